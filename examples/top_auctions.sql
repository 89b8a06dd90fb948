-- You will learn: a stream of ten million events, and what of each minute of it matters most.
-- Run it:    thalweg run examples/top_auctions.sql          (build with --release first)
-- Portable:  the query is; its table is of bids alone, which is ours (see examples/nexmark/portable.sql)
--
-- An auction house, made up: 10,000 events a second for a thousand seconds, as fast as they are taken. Which three auctions of
-- each minute had the most bids? Rows come out when event time has passed a minute, with no clock on the wall involved.
--
-- Expected: 51 rows, three for each of 17 minutes; on the standard error: 9200000 rows in, 51 out

CREATE TABLE bid (
  auction BIGINT,
  price BIGINT,
  `dateTime` TIMESTAMP(3),
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark',
  'thalweg.events' = 'bid',
  'thalweg.rate' = 'max',
  'events.num' = '10000000'
);

SELECT window_start, place, auction, bids, highest
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY bids DESC, auction) AS place
  FROM (
    SELECT window_start, window_end, auction, COUNT(*) AS bids, MAX(price) AS highest
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '1' MINUTE))
    GROUP BY window_start, window_end, auction
  )
)
WHERE place <= 3;
