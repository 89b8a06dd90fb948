-- You will learn: sums over windows of a minute, which come out when event time has passed their end.
-- Run it:    thalweg run examples/03_tumbling.sql
-- Portable:  yes
--
-- WATERMARK says what event time is, and how far rows may lag behind the latest: here not at all. TUMBLE gives each row the
-- bounds of its window, GROUP BY both of them makes one row of each window. The last window ends with the file.
--
-- Expected:
--   window_start,window_end,sales,items,takings
--   2026-03-01 09:00:00.000,2026-03-01 09:01:00.000,4,7,8.50
--   2026-03-01 09:01:00.000,2026-03-01 09:02:00.000,4,14,16.85
--   2026-03-01 09:02:00.000,2026-03-01 09:03:00.000,3,11,9.55
--   2026-03-01 09:03:00.000,2026-03-01 09:04:00.000,1,1,2.20

CREATE TABLE sales (
  sale_time TIMESTAMP(3),
  shop STRING,
  item STRING,
  quantity INT,
  price DECIMAL(10, 2),
  WATERMARK FOR sale_time AS sale_time
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/sales.csv',
  'format' = 'csv'
);

SELECT
  window_start,
  window_end,
  COUNT(*) AS sales,
  SUM(quantity) AS items,
  SUM(quantity * price) AS takings
FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(sale_time), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
