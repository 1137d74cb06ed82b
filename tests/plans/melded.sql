-- Q1-2 and Q8-5: unions of links, without waiting; both read the same one.
CREATE STREAM Control (srcIP STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM Main1 (srcIP STRING, ts TIMESTAMP) TIMESTAMP BY ts SLACK 2 SECONDS;
CREATE STREAM Main2 (srcIP STRING, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;

CREATE QUERY q1_2 AS
  SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts] FROM Control union Main1 union Main2;

CREATE QUERY q8_5 AS
  SELECT count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts] FROM Control union Main1 union Main2;
