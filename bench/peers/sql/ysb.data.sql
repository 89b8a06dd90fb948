-- The events that are repeated.
CREATE TABLE events (user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT)
WITH ('connector' = 'ysb', 'events.num' = '1048576');
CREATE TABLE copied (user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{data}/events.csv', 'format' = 'csv', 'thalweg.single-file' = 'true');
INSERT INTO copied SELECT * FROM events;
