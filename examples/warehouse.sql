-- A warehouse with packing lines. An antenna at the head of each line sees the case, one further on
-- the products that are put into it; they are read out of step, so streams may lag behind each other.
CREATE STREAM cases (tag STRING, line INT, ts TIMESTAMP)
  FROM csv 'examples/warehouse/cases'
  TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE STREAM products (tag STRING, line INT, ts TIMESTAMP)
  FROM csv 'examples/warehouse/products'
  TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE STREAM exits (gate STRING, line INT, ts TIMESTAMP)
  FROM csv 'examples/warehouse/exits'
  TIMESTAMP BY ts SLACK 5 SECONDS;

-- Which case is a product in? In the last one that came by before it on its line.
CREATE QUERY packed AS
  SELECT p.line, c.tag AS packed_in, p.tag AS product, p.ts
  FROM SEQ(cases AS c, products AS p) MODE RECENT PARTITION BY line WITHIN 1 MINUTE;

-- Which case has left by which gate? The cases of a line leave in the order in which they came.
CREATE QUERY gone AS
  SELECT c.line, c.tag, e.gate, e.ts
  FROM SEQ(cases AS c, exits AS e) MODE CHRONICLE PARTITION BY line;
