-- A join without a bound in time of two tables of as many keys as rows.
CREATE TABLE orders (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.kind' = 'sequence', 'fields.k.start' = '0', 'fields.k.end' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '99'
);
CREATE TABLE payments (k BIGINT, w BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.w.min' = '0', 'fields.w.max' = '99'
);
SELECT COUNT(*) AS a, SUM(v) AS b, SUM(w) AS c, SUM(v * w) AS d FROM orders AS o JOIN payments AS p ON o.k = p.k;
