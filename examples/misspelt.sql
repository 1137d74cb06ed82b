CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP)
  FROM csv 'examples/data' TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE QUERY load AS SELECT avg(lenght) FROM packets [RANGE 1 MINUTE];
