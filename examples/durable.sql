-- You will learn: a job that goes on after a crash, and leaves the files of a run that was never interrupted.
-- Run it:    thalweg run examples/durable.sql --state state      (press Ctrl-C, or kill -9 it, and run it again)
-- Portable:  yes
--
-- A million numbers come within ten seconds, one for each millisecond of event time. Each window of ten seconds has the count and
-- the sum for each remainder of seven.
--
-- Expected, on the standard error: 1000000 rows in, 700 out

CREATE TABLE numbers (
  n BIGINT,
  t AS TO_TIMESTAMP_LTZ(n, 3),
  WATERMARK FOR t AS t - INTERVAL '1' SECOND
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '100000',
  'fields.n.kind' = 'sequence',
  'fields.n.start' = '0',
  'fields.n.end' = '999999'
);

CREATE TABLE sums (
  window_start TIMESTAMP(3),
  remainder BIGINT,
  numbers BIGINT,
  total BIGINT
) WITH (
  'connector' = 'filesystem',
  'path' = 'durable',
  'format' = 'csv'
);

INSERT INTO sums
SELECT window_start, n % 7, COUNT(*), SUM(n)
FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(t), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, n % 7;
