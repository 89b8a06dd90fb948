-- Nexmark as nexmark-flink has it: one table of all events, and views of its three kinds.
-- You will learn: rows within rows; and how the queries beside this file run on Flink.
-- Run it:    thalweg run examples/nexmark/portable.sql
-- Portable:  yes, with nexmark-flink on Flink's class path
--
-- To run one of the queries on Flink, put these statements in the place of its tables. The other way round: tables of one kind
-- ('thalweg.events' = 'bid') have the same bids as this view, several times as fast, since no row is made for what is not there.
-- This one comes at its own pace, 10,000 events a second, as without 'max-emit-speed' or 'thalweg.rate'.
--
-- Expected: bids for every hundredth auction, in two seconds; on the standard error: 20000 rows in, 9265 out
--   auction,bidder,price,dateTime
--   1000,1001,42711,2015-07-15 00:00:00.000   and 9264 more

CREATE TABLE nexmark (
  event_type INT,
  person ROW<
    id BIGINT,
    name STRING,
    `emailAddress` STRING,
    `creditCard` STRING,
    city STRING,
    state STRING,
    `dateTime` TIMESTAMP(3),
    extra STRING>,
  auction ROW<
    id BIGINT,
    `itemName` STRING,
    description STRING,
    `initialBid` BIGINT,
    reserve BIGINT,
    `dateTime` TIMESTAMP(3),
    expires TIMESTAMP(3),
    seller BIGINT,
    category BIGINT,
    extra STRING>,
  bid ROW<
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    url STRING,
    `dateTime` TIMESTAMP(3),
    extra STRING>,
  `dateTime` AS CASE event_type
    WHEN 0 THEN person.`dateTime`
    WHEN 1 THEN auction.`dateTime`
    ELSE bid.`dateTime`
  END,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark',
  'first-event.rate' = '10000',
  'next-event.rate' = '10000',
  'events.num' = '20000',
  'person.proportion' = '1',
  'auction.proportion' = '3',
  'bid.proportion' = '46'
);

CREATE VIEW person AS
SELECT
  person.id, person.name, person.`emailAddress`, person.`creditCard`, person.city, person.state, `dateTime`, person.extra
FROM nexmark
WHERE event_type = 0;

CREATE VIEW auction AS
SELECT
  auction.id, auction.`itemName`, auction.description, auction.`initialBid`, auction.reserve, `dateTime`, auction.expires,
  auction.seller, auction.category, auction.extra
FROM nexmark
WHERE event_type = 1;

CREATE VIEW bid AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, `dateTime`, bid.extra
FROM nexmark
WHERE event_type = 2;

SELECT auction, bidder, price, `dateTime`
FROM bid
WHERE MOD(auction, 100) = 0;
