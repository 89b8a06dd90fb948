-- Nexmark q8: new people who sell at once
-- You will learn: a join of windows: who came and opened an auction within the same ten seconds.
-- Run it:    thalweg run examples/nexmark/q8.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Expected, on the standard error: 80000 rows in, 8401 out

CREATE TABLE person (
  id BIGINT,
  name STRING,
  `emailAddress` STRING,
  `creditCard` STRING,
  city STRING,
  state STRING,
  `dateTime` TIMESTAMP(3),
  extra STRING,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark',
  'thalweg.events' = 'person',
  'thalweg.rate' = 'max',
  'events.num' = '1000000'
);

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
  'events.num' = '1000000'
);

CREATE TABLE results (
  id BIGINT,
  name STRING,
  since TIMESTAMP(3)
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT p.id, p.name, p.window_start
FROM (
  SELECT id, name, window_start, window_end
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
) AS p
JOIN (
  SELECT seller, window_start, window_end
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
) AS a
  ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end;
