-- Nexmark q5: the auctions with the most bids
-- You will learn: sliding windows, and a join of windows with the greatest count of each.
-- Run it:    thalweg run examples/nexmark/q5.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Ten seconds, every two. The windows of both sides are alike, so the join needs no bound of its own.
--
-- Expected, on the standard error: 920000 rows in, 56 out

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
  num BIGINT
) WITH ('connector' = 'blackhole');

CREATE VIEW counts AS
SELECT auction, window_start, window_end, COUNT(*) AS num
FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end;

INSERT INTO results
SELECT counts.auction, counts.num
FROM counts
JOIN (
  SELECT window_start, window_end, MAX(num) AS most
  FROM counts
  GROUP BY window_start, window_end
) AS greatest
  ON counts.window_start = greatest.window_start
  AND counts.window_end = greatest.window_end
  AND counts.num >= greatest.most;
