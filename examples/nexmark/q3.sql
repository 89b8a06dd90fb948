-- Nexmark q3: who sells what in three states
-- You will learn: a join without a bound in time, whose rows wait for each other for an hour.
-- Run it:    thalweg run examples/nexmark/q3.sql
-- Portable:  the query is; its tables are of one kind each, which is ours (see examples/nexmark/portable.sql)
--
-- Rows only ever come out of an inner join of rows that only come, so any table takes them.
--
-- Expected, on the standard error: 8000 rows in, 557 out

SET 'table.exec.state.ttl' = '1 h';

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
  'events.num' = '100000'
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
  'events.num' = '100000'
);

CREATE TABLE results (
  name STRING,
  city STRING,
  state STRING,
  id BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT p.name, p.city, p.state, a.id
FROM auction AS a
JOIN person AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
