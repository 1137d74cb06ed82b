-- A union whose inputs have other names and types: the columns of the first, wide enough for all.
CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM asks (article STRING, cost DOUBLE, seen TIMESTAMP) TIMESTAMP BY seen;

CREATE QUERY best AS
  SELECT item, max(price) AS best
  FROM (SELECT item, price, ts FROM bids UNION ALL SELECT article, cost, seen FROM asks)
    [RANGE 1 MINUTE]
  GROUP BY item;
