-- Rows of one file, counted by type in windows of 10 s. Three of seven columns are needed. Flink is asked the same statements.
CREATE TABLE events (
  event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT,
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}', 'format' = '{format}');
CREATE VIEW counts AS
SELECT window_start, event_type, COUNT(*) AS n, SUM(user_id) AS s
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, event_type;
SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) / 10 AS a, event_type AS b, n AS c, s AS d FROM counts;
