-- GROUP BY of a million keys that emits a change for every row: 4 million rows. With --set table.exec.mini-batch.enabled=true,
-- one change for each key of up to 4,096 rows.
-- thalweg run bench/sql/group-changes.sql --workers 2
CREATE TABLE events (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'number-of-rows' = '4000000',
  'fields.k.min' = '0', 'fields.k.max' = '999999', 'fields.v.min' = '0', 'fields.v.max' = '9'
);
CREATE TABLE counts (k BIGINT, c BIGINT, s BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT k, COUNT(*), SUM(v) FROM events GROUP BY k;
