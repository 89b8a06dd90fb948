-- The Yahoo streaming benchmark over {rows} events that are computed from their numbers, so that Flink is asked the same statements.
-- Event number n has the time n in microseconds.
SET 'table.local-time-zone' = 'UTC';
CREATE TABLE events (
  n BIGINT,
  event_time AS CAST(TO_TIMESTAMP_LTZ(n / 1000, 3) AS TIMESTAMP(3)),
  ad_id AS MOD(n * 7919 + n / 1000, 1000) + 1,
  event_type AS MOD(n * 31 + n / 7, 3),
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'datagen', 'rows-per-second' = '1000000000',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{key_max}'
);
CREATE VIEW seen AS SELECT event_time, (ad_id - 1) / 10 AS campaign FROM events WHERE event_type = 0;
CREATE VIEW counts AS
SELECT window_start, campaign, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE seen, DESCRIPTOR(event_time), INTERVAL '1' SECOND))
GROUP BY window_start, window_end, campaign;
SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) AS a, campaign AS b, n AS c FROM counts;
