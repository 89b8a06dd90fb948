-- Two queries that must answer soon beside six that may take their time, for Flink and for our own engine as they are
-- (`cargo xtask engines deadlines`). Windows of the first have one second and a latency target of 50 ms; each of the others
-- computes three digests of a text for each row, 40,000 rows/s, which is more than one core takes.
--
-- One in a hundred of the urgent rows has an event time a second ahead of the time at which it was made. Flink's `datagen`
-- makes the rows of a second at once, so their window ends soon after the first of them, and not only with those of the next
-- second. Rows that are late by then are dropped.
CREATE TABLE orders_1 (
  text STRING, pick INT, made TIMESTAMP_LTZ(3),
  ts AS CASE WHEN pick = 0 THEN made + INTERVAL '1' SECOND ELSE made END, WATERMARK FOR ts AS ts
) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000', 'fields.text.length' = '16',
  'fields.pick.min' = '0', 'fields.pick.max' = '99'
);
CREATE TABLE alerts_1 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'alerts_1'
);
CREATE TABLE orders_2 (
  text STRING, pick INT, made TIMESTAMP_LTZ(3),
  ts AS CASE WHEN pick = 0 THEN made + INTERVAL '1' SECOND ELSE made END, WATERMARK FOR ts AS ts
) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000', 'fields.text.length' = '16',
  'fields.pick.min' = '0', 'fields.pick.max' = '99'
);
CREATE TABLE alerts_2 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'alerts_2'
);
CREATE TABLE texts_1 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_1 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_1'
);
CREATE TABLE texts_2 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_2 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_2'
);
CREATE TABLE texts_3 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_3 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_3'
);
CREATE TABLE texts_4 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_4 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_4'
);
CREATE TABLE texts_5 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_5 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_5'
);
CREATE TABLE texts_6 (text STRING, made TIMESTAMP_LTZ(3), WATERMARK FOR made AS made) WITH (
  'connector' = 'datagen', 'rows-per-second' = '40000', 'fields.text.length' = '100'
);
CREATE TABLE digests_6 (made TIMESTAMP_LTZ(3), row_count BIGINT, most STRING, shown TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'print', 'print-identifier' = 'digests_6'
);

SET 'thalweg.latency-target' = '50 ms';
SET 'pipeline.name' = 'soon-1';
INSERT INTO alerts_1 SELECT MAX(made), COUNT(*), MAX(text), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE orders_1, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'soon-2';
INSERT INTO alerts_2 SELECT MAX(made), COUNT(*), MAX(text), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE orders_2, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end;

SET 'thalweg.latency-target' = '10 s';
SET 'pipeline.name' = 'bulk-1';
INSERT INTO digests_1 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_1, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'bulk-2';
INSERT INTO digests_2 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_2, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'bulk-3';
INSERT INTO digests_3 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_3, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'bulk-4';
INSERT INTO digests_4 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_4, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'bulk-5';
INSERT INTO digests_5 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_5, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
SET 'pipeline.name' = 'bulk-6';
INSERT INTO digests_6 SELECT MAX(made), COUNT(*), MAX(SHA512(CONCAT(SHA512(text), SHA512(REVERSE(text))))), CURRENT_TIMESTAMP
FROM TABLE(TUMBLE(TABLE texts_6, DESCRIPTOR(made), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;
