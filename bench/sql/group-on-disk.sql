-- GROUP BY of ten million keys, each in two rows: with the setting and a small budget, most of the rows go to disk.
-- thalweg run bench/sql/group-on-disk.sql --workers 2 --memory-budget 2GiB
-- thalweg run bench/sql/group-on-disk.sql --workers 2 --memory-budget 128MiB --set thalweg.state.spill-dir=/var/tmp/thalweg
CREATE TABLE events (n BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '20000000',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '20000000'
);
SELECT COUNT(*) AS `keys`, SUM(c) AS `rows`, SUM(s) AS total FROM (SELECT n % 10000000 AS k, COUNT(*) AS c, SUM(n) AS s FROM events GROUP BY n % 10000000);
