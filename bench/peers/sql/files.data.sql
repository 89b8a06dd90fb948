-- A file of {rows} events, 100,000 of them in a second of event time.
CREATE TABLE events (
  event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT
) WITH ('connector' = 'ysb', 'events.num' = '{rows}', 'event-time.rate' = '100000', 'base-time' = '1970-01-01 00:00:00');
CREATE TABLE copied (
  event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT
) WITH ('connector' = 'filesystem', 'path' = '{data}', 'format' = '{format}', 'thalweg.single-file' = 'true');
INSERT INTO copied SELECT * FROM events;
