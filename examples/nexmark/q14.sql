-- Nexmark q14: kinds of hours, and letters counted
-- You will learn: CASE, functions of times, and conditions on what is computed.
-- Run it:    thalweg run examples/nexmark/q14.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The public query counts letters by a function of its own, written in Java; here two functions that there are say the same.
--
-- Expected, on the standard error: 920000 rows in, 260328 out

CREATE TABLE bid (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel STRING,
  url STRING,
  `dateTime` TIMESTAMP(3),
  extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark',
  'thalweg.events' = 'bid',
  'thalweg.rate' = 'max',
  'events.num' = '1000000'
);

CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price DECIMAL(23, 3),
  `bidTimeType` STRING,
  `dateTime` TIMESTAMP(3),
  extra STRING,
  c_counts BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT
  auction,
  bidder,
  0.908 * price,
  CASE
    WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
    WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END,
  `dateTime`,
  extra,
  CAST(CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS BIGINT)
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
