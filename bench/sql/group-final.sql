-- GROUP BY of a million keys with final rows: 10 million rows, aggregated once more so that one row comes out.
-- thalweg run bench/sql/group-final.sql --workers 2
CREATE TABLE events (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'number-of-rows' = '10000000',
  'fields.k.min' = '0', 'fields.k.max' = '999999', 'fields.v.min' = '0', 'fields.v.max' = '9'
);
SELECT COUNT(*) AS `keys`, SUM(c) AS `rows`, SUM(s) AS total FROM (SELECT k, COUNT(*) AS c, SUM(v) AS s FROM events GROUP BY k);
