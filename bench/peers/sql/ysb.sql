-- The Yahoo streaming benchmark over {rows} events in memory. Event number n has the time n in microseconds.
CREATE TABLE events (
  event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT,
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
) WITH ('connector' = 'ysb', 'events.num' = '{rows}', 'event-time.rate' = '1000000', 'base-time' = '1970-01-01 00:00:00');
CREATE VIEW seen AS SELECT event_time, (ad_id - 1) / 10 AS campaign FROM events WHERE event_type = 0;
CREATE VIEW counts AS
SELECT window_start, campaign, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE seen, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, campaign;
SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) / 10 AS a, campaign AS b, n AS c FROM counts;
