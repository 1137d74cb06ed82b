-- Two links of a network, packets up to four seconds out of order. The second link is almost silent.
CREATE STREAM main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  FROM workload 'packets' OPTIONS (link 'main1', rate '10000', rows '600000', disorder '4 seconds', step '5 seconds')
  TIMESTAMP BY ts SLACK 4 SECONDS;

CREATE STREAM quiet (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  FROM workload 'packets' OPTIONS (link 'quiet', rate '0.5', rows '30', disorder '4 seconds', step '5 seconds')
  TIMESTAMP BY ts SLACK 4 SECONDS;

-- Who sends most, over the last ten seconds, every second?
CREATE QUERY talkers AS
  SELECT srcIP, count(*) AS packets, sum(len) AS bytes
  FROM main [RANGE 10 SECONDS SLIDE 1 SECOND]
  GROUP BY srcIP;

-- How much goes over both links?
CREATE QUERY both_links AS
  SELECT count(*) AS packets, avg(len) AS mean_length
  FROM main UNION quiet [RANGE 5 SECONDS];

-- Who gets large packets?
CREATE QUERY heavy AS
  SELECT srcIP, max(len) AS largest, count(*) AS packets
  FROM main [RANGE 20 SECONDS SLIDE 5 SECONDS]
  WHERE len >= 1000
  GROUP BY srcIP
  HAVING count(*) >= 100;
