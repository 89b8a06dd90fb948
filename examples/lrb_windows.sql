-- You will learn: several windows over one stream, joined. Linear Road as far as windows say it: for each segment of a road and
-- each minute the average speed and the number of reports, joined to a report on its toll; and where cars stand still.
-- Run it:    thalweg run examples/lrb_windows.sql
-- Portable:  yes
--
-- A car reports every 30 s. A car that reports one place four times in two minutes has stopped; two of them at one place are an
-- accident. What windows do not say, and this leaves out: that an accident lasts until a car moves, that a car pays when it leaves
-- a segment, and the five minutes of the average speed. Accidents have windows of another kind than tolls, and Flink joins like
-- windows only: so they come out beside the tolls.
--
-- The forty reports in examples/data are made up.
--
-- Expected, by kind:
--   toll> +I[1970-01-01T00:00, 0, 0, 10, 6, 51.666666666666664]   and 15 more
--   accident> +I[1970-01-01T00:01:30, 1970-01-01T00:03:30, 0, 0, 11, 2]

SET 'table.local-time-zone' = 'UTC';

CREATE TABLE reports (
  report_type INT,
  seconds BIGINT,
  vehicle INT,
  speed INT,
  xway INT,
  lane INT,
  direction INT,
  segment INT,
  `position` INT,
  qid INT,
  s_init INT,
  s_end INT,
  dow INT,
  tod INT,
  `day` INT,
  reported_at AS TO_TIMESTAMP(FROM_UNIXTIME(seconds)),
  WATERMARK FOR reported_at AS reported_at
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/lrb_reports.csv',
  'format' = 'csv'
);

CREATE TABLE tolls (
  window_start TIMESTAMP(3),
  xway INT,
  direction INT,
  segment INT,
  reports BIGINT,
  average_speed DOUBLE
) WITH ('connector' = 'print', 'print-identifier' = 'toll');

CREATE TABLE accidents (
  window_start TIMESTAMP(3),
  window_end TIMESTAMP(3),
  xway INT,
  direction INT,
  segment INT,
  cars BIGINT
) WITH ('connector' = 'print', 'print-identifier' = 'accident');

CREATE VIEW positions AS
SELECT reported_at, vehicle, speed, xway, lane, direction, segment, `position`
FROM reports
WHERE report_type = 0;

CREATE VIEW speeds AS
SELECT window_start, window_end, xway, direction, segment, AVG(CAST(speed AS DOUBLE)) AS average_speed
FROM TABLE(TUMBLE(TABLE positions, DESCRIPTOR(reported_at), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, xway, direction, segment;

CREATE VIEW counts AS
SELECT window_start, window_end, xway, direction, segment, COUNT(*) AS reports
FROM TABLE(TUMBLE(TABLE positions, DESCRIPTOR(reported_at), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, xway, direction, segment;

CREATE VIEW stopped AS
SELECT window_start, window_end, window_time AS stopped_at, vehicle, xway, direction, segment, `position`
FROM TABLE(HOP(TABLE positions, DESCRIPTOR(reported_at), INTERVAL '30' SECOND, INTERVAL '2' MINUTE))
WHERE speed = 0 AND lane <> 4
GROUP BY window_start, window_end, window_time, vehicle, xway, lane, direction, segment, `position`
HAVING COUNT(*) >= 4;

EXECUTE STATEMENT SET
BEGIN
  INSERT INTO tolls
  SELECT s.window_start, s.xway, s.direction, s.segment, c.reports, s.average_speed
  FROM speeds AS s
  JOIN counts AS c
    ON s.window_start = c.window_start AND s.window_end = c.window_end
    AND s.xway = c.xway AND s.direction = c.direction AND s.segment = c.segment;

  INSERT INTO accidents
  SELECT window_start, window_end, xway, direction, segment, COUNT(*)
  FROM stopped
  GROUP BY window_start, window_end, xway, direction, segment, `position`
  HAVING COUNT(*) >= 2;
END;
