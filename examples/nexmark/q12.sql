-- Nexmark q12: bids of each person in ten seconds of processing time
-- You will learn: windows over processing time: they end by the clock, whatever the times of the rows.
-- Run it:    thalweg run examples/nexmark/q12.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- A window has the bids that were read while it was open, so its counts differ from run to run.
--
-- Expected, on the standard error: 920000 rows in; how many come out depends on the clock

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
  bid_count BIGINT,
  starttime TIMESTAMP(3),
  endtime TIMESTAMP(3)
) WITH ('connector' = 'blackhole');

CREATE VIEW arrivals AS
SELECT *, PROCTIME() AS arrived_at
FROM bid;

INSERT INTO results
SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE arrivals, DESCRIPTOR(arrived_at), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
