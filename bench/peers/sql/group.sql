-- GROUP BY without a window, with final rows, aggregated once more so that one row comes out.
CREATE TABLE events (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '9'
);
SELECT COUNT(*) AS a, SUM(c) AS b, SUM(s) AS c, SUM(c * s) AS d, SUM(MOD(k, 997) * c) AS e
FROM (SELECT k, COUNT(*) AS c, SUM(v) AS s FROM events GROUP BY k);
