-- Generated rows. A value follows from the seed, the table, the column and the number of the row, so all runs have equal ones.
CREATE TABLE events (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '9'
);
