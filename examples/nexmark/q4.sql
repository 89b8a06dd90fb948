-- Nexmark q4: the average price of a category
-- You will learn: aggregates over aggregates: what comes out is corrected whenever a higher bid comes.
-- Run it:    thalweg run examples/nexmark/q4.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The highest bid of each auction while it was open, and the mean of those by category. `print` shows what becomes of each row:
-- -U takes one back, +U is its successor.
--
-- Expected, on the standard error: 9800 rows in; one row for each of the five categories is left at the end

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
  category BIGINT,
  final BIGINT
) WITH ('connector' = 'print');

INSERT INTO results
SELECT category, AVG(final)
FROM (
  SELECT a.id, a.category, MAX(b.price) AS final
  FROM auction AS a
  JOIN bid AS b
    ON a.id = b.auction AND b.`dateTime` BETWEEN a.`dateTime` AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category;
