-- You will learn: the first few of each window, by ROW_NUMBER over the window's bounds.
-- Run it:    thalweg run examples/05_top_n.sql
-- Portable:  yes
--
-- A window's rows are ranked when it closes, so a row that came out is never taken back.
--
-- Expected:
--   window_start,place,shop,takings
--   2026-03-01 09:00:00.000,1,Riverside,12.75
--   2026-03-01 09:00:00.000,2,Station,6.60
--   2026-03-01 09:02:00.000,1,Station,5.15
--   2026-03-01 09:02:00.000,2,Hilltop,4.20

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

CREATE VIEW takings_of_shops AS
SELECT window_start, window_end, shop, SUM(quantity * price) AS takings
FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(sale_time), INTERVAL '2' MINUTE))
GROUP BY window_start, window_end, shop;

SELECT window_start, place, shop, takings
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY takings DESC) AS place
  FROM takings_of_shops
)
WHERE place <= 2;
