-- Sources that send most: filter, window, HAVING and the SELECT list around one aggregate.
CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP)
  FROM parquet 'data/packets' TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE QUERY talkers INTO parquet 'out/talkers' AS
  SELECT src, count(*) AS n, sum(len) AS bytes
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY src;

CREATE QUERY heavy AS
  SELECT upper(src) AS who, sum(len) / 1024 AS kilobytes
  FROM packets [RANGE 1 MINUTE]
  WHERE len > 100 AND dst IS NOT NULL
  GROUP BY src
  HAVING count(*) > 10;
