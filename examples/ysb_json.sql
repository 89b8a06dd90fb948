-- You will learn: the Yahoo streaming benchmark on events as Yahoo writes them, JSON lines in which all is text; and a join
-- with a table that has versions, which keeps event time so that windows can follow.
-- Run it:    thalweg run examples/ysb_json.sql
-- Portable:  yes
--
-- An ad that is in no campaign is dropped by the join. The campaigns are read to their end before the first event is joined.
--
-- Expected:
--   window_start,campaign,views
--   2015-07-15 00:00:00.000,shoes,1
--   2015-07-15 00:00:00.000,spring,3
--   2015-07-15 00:00:10.000,shoes,2
--   2015-07-15 00:00:10.000,travel,1
--   2015-07-15 00:00:20.000,travel,1

SET 'table.local-time-zone' = 'UTC';

CREATE TABLE events (
  user_id STRING,
  page_id STRING,
  ad_id STRING,
  ad_type STRING,
  event_type STRING,
  event_time STRING,
  ip_address STRING,
  seen_at AS TO_TIMESTAMP_LTZ(CAST(event_time AS BIGINT), 3),
  WATERMARK FOR seen_at AS seen_at
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/ysb.json',
  'format' = 'json'
);

CREATE TABLE campaigns (
  ad_id STRING,
  campaign STRING,
  since TIMESTAMP_LTZ(3),
  PRIMARY KEY (ad_id) NOT ENFORCED,
  WATERMARK FOR since AS since
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/ysb_campaigns.csv',
  'format' = 'csv'
);

CREATE VIEW views AS
SELECT e.seen_at, c.campaign
FROM events AS e
JOIN campaigns FOR SYSTEM_TIME AS OF e.seen_at AS c
  ON e.ad_id = c.ad_id
WHERE e.event_type = 'view';

SELECT window_start, campaign, COUNT(*) AS views
FROM TABLE(TUMBLE(TABLE views, DESCRIPTOR(seen_at), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, campaign;
