-- The tables of join.sql, as files.
CREATE TABLE orders (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.kind' = 'sequence', 'fields.k.start' = '0', 'fields.k.end' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '99'
);
CREATE TABLE payments (k BIGINT, w BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.w.min' = '0', 'fields.w.max' = '99'
);
CREATE TABLE copied_orders (k BIGINT, v BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/orders.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
CREATE TABLE copied_payments (k BIGINT, w BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/payments.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
INSERT INTO copied_orders SELECT * FROM orders;
INSERT INTO copied_payments SELECT * FROM payments;
