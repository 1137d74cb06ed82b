-- Rows of arrays and maps: below windows, joins, and what looks at single rows.
CREATE STREAM orders (
  id BIGINT, client STRING, tags ARRAY<STRING>, prices MAP<STRING, INT>,
  items ARRAY<STRUCT<sku: STRING, pieces: INT>>, ts TIMESTAMP
) TIMESTAMP BY ts SLACK 5 SECONDS;
CREATE STREAM recalls (sku STRING, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY sold AS
  SELECT item.sku, sum(item.pieces) AS pieces FROM orders [RANGE 1 MINUTE]
  LATERAL VIEW explode(items) t AS item WHERE client <> 'test' AND item.pieces > 0
  GROUP BY item.sku;
CREATE QUERY recalled AS
  SELECT o.id, t.sku, t.n FROM orders AS o CROSS JOIN UNNEST(o.items) WITH ORDINALITY AS t(sku, pieces, n)
  JOIN recalls AS r ON r.sku = t.sku WITHIN 1 HOUR;
CREATE QUERY pairs AS
  SELECT id, tag, article, price FROM orders
  LATERAL VIEW OUTER explode(tags) t AS tag LATERAL VIEW explode(prices) p AS article, price;
