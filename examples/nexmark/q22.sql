-- Nexmark q22: folders of addresses
-- You will learn: text taken apart: SPLIT_INDEX counts from 0.
-- Run it:    thalweg run examples/nexmark/q22.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 920000 rows in, 920000 out

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
  price BIGINT,
  channel STRING,
  dir1 STRING,
  dir2 STRING,
  dir3 STRING
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT
  auction,
  bidder,
  price,
  channel,
  SPLIT_INDEX(url, '/', 3),
  SPLIT_INDEX(url, '/', 4),
  SPLIT_INDEX(url, '/', 5)
FROM bid;
