-- The table as a file. A generated value follows from the seed, the table, the column and the number of the row.
CREATE TABLE copied (k BIGINT, v BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/events.parquet', 'format' = 'parquet', 'thalweg.single-file' = 'true');
INSERT INTO copied SELECT * FROM events;
