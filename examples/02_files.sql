-- You will learn: a table is a file or a folder of files, read in one format and written in another.
-- Run it:    thalweg run examples/02_files.sql     (from the folder above examples: paths begin where you are)
-- Portable:  yes, with paths that Flink's workers see
--
-- Expected: a folder /tmp/thalweg-02-files with JSON lines, of which the first is
-- {"shop":"Riverside","item":"apple","price":0.40,"total":1.20,"size":"small"}
-- and on the standard error: 12 rows in, 10 out

CREATE TABLE sales (
  sale_time TIMESTAMP(3),
  shop STRING,
  item STRING,
  quantity INT,
  price DECIMAL(10, 2)
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/sales.csv',
  'format' = 'csv'
);

CREATE TABLE totals (
  shop STRING,
  item STRING,
  price DECIMAL(10, 2),
  total DECIMAL(12, 2),
  size STRING
) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/thalweg-02-files',
  'format' = 'json'
);

-- Columns are matched by their places, and must fit without a loss: hence the cast.
INSERT INTO totals
SELECT
  shop,
  item,
  price,
  CAST(quantity * price AS DECIMAL(12, 2)),
  CASE WHEN quantity * price < 3 THEN 'small' ELSE 'large' END
FROM sales
WHERE item <> 'milk';
