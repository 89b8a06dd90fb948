-- Nexmark q9: the winning bid of each auction
-- You will learn: the first of a rank without a window: it is replaced when a higher bid comes.
-- Run it:    thalweg run examples/nexmark/q9.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 9800 rows in, 1910 out

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
  'events.num' = '10000'
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
  'events.num' = '10000'
);

CREATE TABLE results (
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
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  `bid_dateTime` TIMESTAMP(3),
  bid_extra STRING
) WITH ('connector' = 'print');

INSERT INTO results
SELECT
  id, `itemName`, description, `initialBid`, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, `bid_dateTime`, bid_extra
FROM (
  SELECT
    a.*,
    b.auction,
    b.bidder,
    b.price,
    b.`dateTime` AS `bid_dateTime`,
    b.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC) AS place
  FROM auction AS a
  JOIN bid AS b
    ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
)
WHERE place <= 1;
