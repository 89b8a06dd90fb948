-- ORDER BY of ten million rows: with the setting and a small budget, all rows go to disk.
-- thalweg run bench/sql/order-on-disk.sql --workers 2 --memory-budget 2GiB
-- thalweg run bench/sql/order-on-disk.sql --workers 2 --memory-budget 128MiB --set thalweg.state.spill-dir=/var/tmp/thalweg
CREATE TABLE events (n BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '10000000',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '10000000'
);
CREATE TABLE out (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');
SET 'execution.runtime-mode' = 'batch';
INSERT INTO out SELECT n * 7919 % 10000019 AS k, n FROM events ORDER BY k;
