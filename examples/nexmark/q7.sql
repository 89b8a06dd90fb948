-- Nexmark q7: the highest bid of each ten seconds
-- You will learn: a stream joined with an aggregate of itself.
-- Run it:    thalweg run examples/nexmark/q7.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The public query joins bids with the end of a window by price and time; the end of a window is no event time to Flink, so that
-- join has no bound, and would keep all bids. Here it is `window_time`, the last millisecond of a window, which is one: a bid waits
-- for its window's end, and no longer.
--
-- Expected, on the standard error: 920000 rows in, 10 out

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
  bidder BIGINT,
  price BIGINT,
  `dateTime` TIMESTAMP(3),
  extra STRING
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT b.auction, b.bidder, b.price, b.`dateTime`, b.extra
FROM bid AS b
JOIN (
  SELECT window_time, MAX(price) AS highest
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, window_time
) AS w
  ON b.price = w.highest
WHERE b.`dateTime` BETWEEN w.window_time - INTERVAL '9.999' SECOND AND w.window_time;
