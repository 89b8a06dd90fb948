-- Nexmark q18: the last bid of each person for each auction
-- You will learn: de-duplication: the last row of a key replaces the one before it.
-- Run it:    thalweg run examples/nexmark/q18.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 92000 rows in, 155465 out

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
  extra STRING
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS place
  FROM bid
)
WHERE place <= 1;
