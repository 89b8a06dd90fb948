-- Two tables of as many keys as rows: each key once, and keys at random.
CREATE TABLE orders (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.kind' = 'sequence', 'fields.k.start' = '0', 'fields.k.end' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '99'
);
CREATE TABLE payments (k BIGINT, w BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.w.min' = '0', 'fields.w.max' = '99'
);
