-- Nexmark q10: all bids to files, by day and minute
-- You will learn: partitions: folders whose names are values of columns.
-- Run it:    thalweg run examples/nexmark/q10.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- The public query publishes a partition when the watermark has passed it; here each file is published when it is whole, with an
-- empty file _SUCCESS beside those of its partition.
--
-- Expected, on the standard error: 92000 rows in, 92000 out; files in /tmp/thalweg-nexmark-q10/dt=2015-07-15/hm=00:00

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
  `dateTime` TIMESTAMP(3),
  extra STRING,
  dt STRING,
  hm STRING
) PARTITIONED BY (dt, hm) WITH (
  'connector' = 'filesystem',
  'path' = '/tmp/thalweg-nexmark-q10',
  'format' = 'csv',
  'sink.rolling-policy.rollover-interval' = '1 min',
  'sink.partition-commit.policy.kind' = 'success-file'
);

INSERT INTO results
SELECT
  auction, bidder, price, `dateTime`, extra,
  DATE_FORMAT(`dateTime`, 'yyyy-MM-dd'),
  DATE_FORMAT(`dateTime`, 'HH:mm')
FROM bid;
