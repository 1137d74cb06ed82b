-- Windows of the other kinds: landmark, partitioned, cumulating, slide by tuple.
CREATE STREAM Main (srcIP STRING, length INT, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE VIEW landmark AS
  SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts] FROM Main GROUP BY srcIP;
CREATE VIEW partitioned AS
  SELECT srcIP, max(length) [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP] FROM Main;
CREATE VIEW cumulating AS
  SELECT count(*) AS n
  FROM CUMULATE(TABLE Main, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)
  GROUP BY window_start, window_end;

CREATE QUERY q5_4 AS SELECT * FROM landmark;
CREATE QUERY q5_2 AS SELECT * FROM partitioned;
CREATE QUERY cumulate AS SELECT * FROM cumulating;
CREATE QUERY q5_5 AS
  SELECT max(length) [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num] FROM Main;
CREATE QUERY every_fifth AS
  SELECT max(length) [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR row-num] FROM Main;
CREATE QUERY q5_6 AS
  SELECT count(*) [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)] FROM Main;
