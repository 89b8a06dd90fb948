-- You will learn: rows may come out of order by as much as the watermark allows; those that come later are counted, not
-- merged.
-- Run it:    thalweg run examples/04_late_and_watermarks.sql
-- Portable:  yes
--
-- The watermark lags five seconds behind the latest reading. So the reading of 12:00:08, which comes behind that of 12:00:11, is
-- in time for its window of ten seconds. When the reading of 12:00:16 has come, the watermark is 12:00:11: the window from
-- 12:00:00 to 12:00:10 is closed, and the reading of 12:00:09 (the wrong 99.9) is late. The one of 12:00:12 comes behind a
-- later one too, but its window is open until 12:00:25 was seen.
--
-- Expected, and on the standard error: 1 late
--   window_start,readings,lowest,highest
--   2026-03-01 12:00:00.000,3,18.0,20.5
--   2026-03-01 12:00:10.000,3,20.9,21.3
--   2026-03-01 12:00:20.000,1,18.8,18.8
--   2026-03-01 12:00:30.000,1,21.6,21.6

CREATE TABLE readings (
  `at` TIMESTAMP(3),
  place STRING,
  degrees DOUBLE,
  WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/readings.csv',
  'format' = 'csv'
);

SELECT
  window_start,
  COUNT(*) AS readings,
  MIN(degrees) AS lowest,
  MAX(degrees) AS highest
FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(`at`), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;
