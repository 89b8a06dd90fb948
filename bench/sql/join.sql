-- A join without a bound in time of two tables of a million keys and as many rows each.
-- thalweg run bench/sql/join.sql --workers 2 --memory-budget 2GiB
CREATE TABLE orders (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'number-of-rows' = '1000000',
  'fields.k.kind' = 'sequence', 'fields.k.start' = '0', 'fields.k.end' = '999999'
);
CREATE TABLE payments (k BIGINT, w BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'number-of-rows' = '1000000',
  'fields.k.min' = '0', 'fields.k.max' = '999999'
);
CREATE TABLE pairs (k BIGINT, v BIGINT, w BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO pairs SELECT o.k, v, w FROM orders AS o JOIN payments AS p ON o.k = p.k;
