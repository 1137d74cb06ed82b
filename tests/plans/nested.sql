-- Aggregates of aggregates, through a view that two queries read.
CREATE STREAM packets (src STRING, len INT, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE VIEW per_source AS
  SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] WHERE len > 0 GROUP BY src;

CREATE QUERY busiest AS
  SELECT max(n) AS most FROM per_source [RANGE 1 HOUR, SLIDE 10 MINUTES, WA window_end];
CREATE QUERY quiet AS SELECT src, window_end FROM per_source WHERE n < 3;
