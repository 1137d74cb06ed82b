CREATE STREAM cases (tag STRING, line INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
CREATE STREAM products (tag STRING, line INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
CREATE QUERY packed AS
  SELECT c.tag, p.tag AS product FROM SEQ(cases AS c, products AS p) MODE RECENT PARTITION BY line;
CREATE QUERY unpacked AS
  SELECT c.tag, p.tag AS product, d.tag AS next
  FROM SEQ(cases AS c, products AS p, cases AS d) MODE RECENT PARTITION BY line WITHIN 1 MINUTE
  WHERE c.tag <> d.tag;
CREATE QUERY sealed AS
  SELECT c.tag, p.tag AS product, p.ts FROM SEQ(cases AS c, products AS p) MODE CHRONICLE
  WHERE c.line = p.line AND c.tag LIKE 'x%' ORDER BY ts;
CREATE QUERY seen AS
  SELECT c.tag, count(*) AS n FROM SEQ(cases AS c, products AS p) WITHIN 5 SECONDS
    [RANGE 1 MINUTE, WA p.ts] GROUP BY c.tag;
