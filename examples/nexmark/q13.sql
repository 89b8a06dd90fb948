-- Nexmark q13: bids with a side table
-- You will learn: a look-up: a table that ends is read first, and every row meets what it has of the row's key.
-- Run it:    thalweg run examples/nexmark/q13.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The public query looks up in a file by processing time. Flink 2 looks rows up in outside stores only, not in files, so this runs
-- here and is read by Flink, but not run.
--
-- Expected, on the standard error: 92020 rows in, 1119 out

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

CREATE TABLE side_input (
  `key` BIGINT,
  `value` STRING
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/side_input.csv',
  'format' = 'csv'
);

CREATE TABLE results (
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  `dateTime` TIMESTAMP(3),
  `value` STRING
) WITH ('connector' = 'blackhole');

CREATE VIEW arrivals AS
SELECT *, PROCTIME() AS arrived_at
FROM bid;

INSERT INTO results
SELECT b.auction, b.bidder, b.price, b.`dateTime`, s.`value`
FROM arrivals AS b
JOIN side_input FOR SYSTEM_TIME AS OF b.arrived_at AS s
  ON MOD(b.auction, 10000) = s.`key`;
