-- What a window can be on: a timestamp, an integer, a row number, the time of arrival, a window's end.
CREATE STREAM readings (sensor STRING, value DOUBLE) LATENT;
CREATE STREAM steps (x DOUBLE, seq BIGINT) TIMESTAMP BY seq SLACK 10;
CREATE STREAM clicks (page STRING) TIMESTAMP INTERNAL;

CREATE QUERY by_row AS SELECT avg(value) AS mean FROM readings [RANGE 1000 ROWS, SLIDE 10 ROWS];
CREATE QUERY by_number AS SELECT sum(x) AS total FROM steps [RANGE 10, SLIDE 3];
CREATE QUERY by_key AS SELECT seq, max(x) AS top FROM steps GROUP BY seq;
CREATE QUERY by_arrival AS SELECT page, count(*) AS n FROM clicks [RANGE 1 MINUTE] GROUP BY page;
