-- You will learn: how fast it goes. The Yahoo streaming benchmark: how often were the ads of each campaign seen, per 10 s?
-- Run it:    thalweg run examples/ysb.sql          (build with --release first)
-- Portable:  no: the connector 'ysb' is ours; everything behind it is
--
-- 20 million events, made up and as fast as they are taken, with 100,000 of them in a second of event time: 200 seconds, which
-- are 20 windows. A third of the events are views. Ten ads that follow each other belong to a campaign, so that the benchmark's
-- join with the table of campaigns is a division here.
--
-- Expected, on the standard error: 20000000 rows in, 2000 out

CREATE TABLE events (
  event_time TIMESTAMP(3),
  user_id BIGINT,
  page_id BIGINT,
  ad_id BIGINT,
  ad_type BIGINT,
  event_type BIGINT,
  ip BIGINT,
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'ysb',
  'events.num' = '20000000',
  'event-time.rate' = '100000'
);

CREATE TABLE seen (
  window_start TIMESTAMP(3),
  campaign BIGINT,
  views BIGINT
) WITH ('connector' = 'blackhole');

CREATE VIEW views AS
SELECT event_time, (ad_id - 1) / 10 AS campaign
FROM events
WHERE event_type = 0;

INSERT INTO seen
SELECT window_start, campaign, COUNT(*)
FROM TABLE(TUMBLE(TABLE views, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, campaign;
