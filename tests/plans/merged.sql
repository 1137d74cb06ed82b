-- The same streams in order, and one union that cannot be had in order.
SET union = merge;
CREATE STREAM a (k STRING, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
CREATE STREAM b (k STRING, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
CREATE STREAM late (k STRING, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;

CREATE QUERY ordered AS SELECT k, ts FROM a UNION ALL SELECT k, ts FROM b WHERE k <> 'x';
CREATE QUERY refused AS SELECT k, ts FROM a UNION ALL SELECT k, ts FROM late;
