-- Windows in the words of other systems: where the slide does not divide the size, the origin moves.
CREATE STREAM s (k STRING, v INT, ts TIMESTAMP,
                 WATERMARK FOR ts AS ts - INTERVAL '5' SECOND);

CREATE QUERY brackets AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS, SLIDE 4 SECONDS];
CREATE QUERY spark AS
  SELECT k, count(*) AS n FROM s GROUP BY window(ts, '10 seconds', '4 seconds'), k;
CREATE QUERY flink AS
  SELECT window_start, window_end, sum(v) AS total
  FROM HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)
  GROUP BY window_start, window_end;
CREATE QUERY tumble AS
  SELECT window_end, min(v) AS least
  FROM TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTE)
  GROUP BY window_start, window_end;
