-- Nexmark q11: sessions of bidders
-- You will learn: session windows: bids of one person until ten seconds pass without one.
-- Run it:    thalweg run examples/nexmark/q11.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The public query has the older form GROUP BY SESSION(..); this is the same as a window table function.
--
-- Expected, on the standard error: 920000 rows in, 19914 out

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
  bidder BIGINT,
  bids BIGINT,
  starts TIMESTAMP(3),
  ends TIMESTAMP(3)
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT bidder, COUNT(*), window_start, window_end
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
