-- ORDER BY: answers in the order of a column that progresses, and what that costs.
CREATE STREAM exact (k STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM loose (k STRING, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;

CREATE QUERY already AS SELECT k, ts FROM exact WHERE k <> 'x' ORDER BY ts;
CREATE QUERY sorted AS SELECT k, ts FROM loose ORDER BY ts;
CREATE QUERY united AS SELECT k, ts FROM exact UNION ALL SELECT k, ts FROM loose ORDER BY ts;
CREATE QUERY joined AS
  SELECT l.k, l.ts, r.ts AS rt FROM exact l [RANGE 10 SECONDS], loose r [RANGE 2 SECONDS]
  WHERE l.k = r.k ORDER BY l.ts;
CREATE QUERY counted AS
  SELECT count(*) AS n FROM loose [RANGE 10 SECONDS, SLIDE 5 SECONDS] ORDER BY window_end;
CREATE QUERY by_itself AS SELECT k, ts FROM loose ORDERED;
CREATE QUERY ends AS SELECT k, count(*) AS n FROM loose [RANGE 10 SECONDS] GROUP BY k ORDERED;
