-- Who sends most? Packets come up to five seconds out of order.
CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP)
  FROM csv 'examples/data'
  TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE QUERY talkers AS
  SELECT src, count(*) AS packets, sum(len) AS bytes
  FROM packets [RANGE 2 MINUTES SLIDE 1 MINUTE]
  GROUP BY src
  HAVING sum(len) > 20000;

CREATE QUERY load AS
  SELECT count(*) AS packets, avg(len) AS mean_length
  FROM packets [RANGE 1 MINUTE];
