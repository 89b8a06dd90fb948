-- You will learn: questions about all of a file, such as its top five, which have one answer when the file has ended.
-- Run it:    thalweg run examples/09_final_rows.sql
-- Portable:  yes
--
-- A file ends, so GROUP BY needs neither a window nor a time to live, ORDER BY takes any columns, and each row comes out once. Flink shows
-- the same rows after SET 'execution.runtime-mode' = 'batch'.
--
-- Expected: 12 rows in, 3 out
--   shop,takings,best
--   Riverside,15.15,6.75
--   Station,11.75,4.40
--   Hilltop,10.20,4.20

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

SELECT shop, SUM(quantity * price) AS takings, MAX(quantity * price) AS best
FROM sales
GROUP BY shop
ORDER BY takings DESC
LIMIT 3;
