-- Q5-8 and Q7-2: rows that lie within a band of time of each other.
CREATE STREAM Main1 (srcIP STRING, destIP STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM Main2 (srcIP STRING, destIP STRING, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;
DECLARE n = 3 SECONDS;

CREATE QUERY q5_8 AS
  SELECT Main1.srcIP, Main1.destIP, Main2.srcIP, Main2.destIP, Main2.ts
  FROM Main1 [RANGE 3 minutes, WA ts], Main2 [RANGE 2 minutes, WA ts]
  WHERE Main1.srcIP = Main2.destIP;
CREATE QUERY q7_2 AS
  SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts]
  FROM Main1 AS M1 [RANGE n, WA ts], Main2 AS M2 [RANGE n, WA ts]
  WHERE M1.srcIP=M2.destIP and M1.destIP=M2.srcIP;
CREATE QUERY bounded AS
  SELECT l.srcIP, r.ts FROM Main1 l LEFT JOIN Main2 r
  ON l.srcIP = r.srcIP AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE AND l.destIP <> r.destIP;
