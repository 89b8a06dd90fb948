-- The tables as files.
CREATE TABLE copied_orders (k BIGINT, v BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/orders.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
CREATE TABLE copied_payments (k BIGINT, w BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/payments.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
INSERT INTO copied_orders SELECT * FROM orders;
INSERT INTO copied_payments SELECT * FROM payments;
