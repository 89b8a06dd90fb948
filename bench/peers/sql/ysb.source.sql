-- The columns that the question needs, without the question.
CREATE TABLE events (
  event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT,
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
) WITH ('connector' = 'ysb', 'events.num' = '{rows}', 'event-time.rate' = '1000000', 'base-time' = '1970-01-01 00:00:00');
CREATE TABLE nowhere (event_time TIMESTAMP(3), ad_id BIGINT, event_type BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT event_time, ad_id, event_type FROM events;
