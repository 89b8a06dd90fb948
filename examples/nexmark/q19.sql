-- Nexmark q19: the ten highest bids of each auction
-- You will learn: a rank that is shown: a row that comes in between moves those behind it.
-- Run it:    thalweg run examples/nexmark/q19.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 92000 rows in, 246811 out

SET 'table.exec.state.ttl' = '1 h';

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
  `dateTime` TIMESTAMP(3),
  extra STRING,
  place BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT auction, bidder, price, channel, url, `dateTime`, extra, place
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place
  FROM bid
)
WHERE place <= 10;
