-- Nexmark q2: bids for some auctions
-- You will learn: a filter that few rows pass.
-- Run it:    thalweg run examples/nexmark/q2.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The first Nexmark asked for five auctions by their ids; every 123rd keeps the share when the stream grows.
--
-- Expected, on the standard error: 920000 rows in, 6966 out

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
  price BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT auction, price
FROM bid
WHERE MOD(auction, 123) = 0;
