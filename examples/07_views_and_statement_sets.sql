-- You will learn: a view names a query; a statement set writes to several tables in one job, which reads its input once.
-- Run it:    thalweg run examples/07_views_and_statement_sets.sql
-- Portable:  yes
--
-- Expected, the lines of both tables in any order:
--   large> +I[Hilltop, apple, 3.50]
--   large> +I[Station, coffee, 4.40]
--   large> +I[Riverside, cheese, 6.75]
--   large> +I[Hilltop, milk, 4.20]
--   shop> +I[2026-03-01T09:00, Hilltop, 10.20]
--   shop> +I[2026-03-01T09:00, Riverside, 15.15]
--   shop> +I[2026-03-01T09:00, Station, 11.75]

SET 'pipeline.name' = 'shops';

CREATE TABLE sales (
  sale_time TIMESTAMP(3),
  shop STRING,
  item STRING,
  quantity INT,
  price DECIMAL(10, 2),
  total AS quantity * price,
  WATERMARK FOR sale_time AS sale_time
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/sales.csv',
  'format' = 'csv'
);

CREATE VIEW large_sales AS
SELECT shop, item, total FROM sales WHERE total > 3;

CREATE TABLE large_ones (
  shop STRING,
  item STRING,
  total DECIMAL(20, 2)
) WITH (
  'connector' = 'print',
  'print-identifier' = 'large'
);

CREATE TABLE shops (
  window_start TIMESTAMP(3),
  shop STRING,
  takings DECIMAL(38, 2)
) WITH (
  'connector' = 'print',
  'print-identifier' = 'shop'
);

EXECUTE STATEMENT SET
BEGIN
  INSERT INTO large_ones SELECT * FROM large_sales;

  INSERT INTO shops
  SELECT window_start, shop, SUM(total)
  FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(sale_time), INTERVAL '10' MINUTE))
  GROUP BY window_start, window_end, shop;
END;
