-- The table of group.sql, as a file. A generated value follows from the seed, the table, the column and the number of the row.
CREATE TABLE events (k BIGINT, v BIGINT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000', 'number-of-rows' = '{rows}',
  'fields.k.min' = '0', 'fields.k.max' = '{key_max}', 'fields.v.min' = '0', 'fields.v.max' = '9'
);
CREATE TABLE copied (k BIGINT, v BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/events.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
INSERT INTO copied SELECT * FROM events;
