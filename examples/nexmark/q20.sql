-- Nexmark q20: bids with their auctions
-- You will learn: a join of many rows with few, after a filter on one side.
-- Run it:    thalweg run examples/nexmark/q20.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 98000 rows in, 19810 out

SET 'table.exec.state.ttl' = '1 h';

CREATE TABLE auction (
  id BIGINT,
  `itemName` STRING,
  description STRING,
  `initialBid` BIGINT,
  reserve BIGINT,
  `dateTime` TIMESTAMP(3),
  expires TIMESTAMP(3),
  seller BIGINT,
  category BIGINT,
  extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark',
  'thalweg.events' = 'auction',
  'thalweg.rate' = 'max',
  'events.num' = '100000'
);

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
  'events.num' = '100000'
);

CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel STRING,
  url STRING,
  `bid_dateTime` TIMESTAMP(3),
  bid_extra STRING,
  `itemName` STRING,
  description STRING,
  `initialBid` BIGINT,
  reserve BIGINT,
  `auction_dateTime` TIMESTAMP(3),
  expires TIMESTAMP(3),
  seller BIGINT,
  category BIGINT,
  auction_extra STRING
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT
  b.auction, b.bidder, b.price, b.channel, b.url, b.`dateTime`, b.extra,
  a.`itemName`, a.description, a.`initialBid`, a.reserve, a.`dateTime`, a.expires, a.seller, a.category, a.extra
FROM bid AS b
JOIN auction AS a ON b.auction = a.id
WHERE a.category = 10;
