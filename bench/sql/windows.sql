-- COUNT and SUM of a million keys in two windows of ten million rows each.
-- thalweg run bench/sql/windows.sql --workers 2 --memory-budget 4GiB
CREATE TABLE events (k BIGINT, v BIGINT, n BIGINT, ts AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND) WITH (
  'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'number-of-rows' = '20000000',
  'fields.k.min' = '0', 'fields.k.max' = '999999', 'fields.v.min' = '0', 'fields.v.max' = '9',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '19999999'
);
CREATE TABLE sums (s TIMESTAMP_LTZ(3), k BIGINT, c BIGINT, total BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sums SELECT window_start, k, COUNT(*), SUM(v)
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10000' SECOND)) GROUP BY window_start, window_end, k;
