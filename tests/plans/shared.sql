-- What three queries have in common is written, and computed, once.
CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM other (src STRING, dst STRING, len INT, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY long AS SELECT src, len, ts FROM packets WHERE len > 1000;
CREATE QUERY per_minute AS
  SELECT src, count(*) AS n FROM (SELECT src, len, ts FROM packets WHERE len > 1000)
    [RANGE 1 MINUTE] GROUP BY src;
CREATE QUERY per_minute_again AS
  SELECT src, count(*) AS n FROM (SELECT src, len, ts FROM packets WHERE len > 1000)
    [RANGE 1 MINUTE] GROUP BY src HAVING count(*) > 1;
CREATE QUERY apart AS SELECT dst FROM other;
