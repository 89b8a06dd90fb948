-- You will learn: New York's taxis. How many trips began in each cell of the town, and how far did they go on average?
-- Run it:    thalweg run examples/nyt.sql
-- Portable:  yes
--
-- Trips of the vendor VTS of more than a mile, per minute of their end. Cells are squares of about 250 m, counted eastward and
-- southward from a point in New Jersey, as in the DEBS 2015 Grand Challenge; trips outside of cells 1 to 600 are left out. The
-- dozen trips in examples/data are made up; the columns are those of the files of the Taxi and Limousine Commission, whose
-- first line needs 'csv.ignore-first-line' = 'true' (ours). The benchmark's windows are 2 s; stamps of VTS are whole minutes.
--
-- Expected:
--   window_start,cell_x,cell_y,trips,average_miles
--   2013-01-13 10:12:00.000,312,320,2,2.0
--   2013-01-13 10:12:00.000,376,371,1,17.2
--   2013-01-13 10:13:00.000,312,320,1,2.9
--   2013-01-13 10:13:00.000,321,310,1,1.4
--   2013-01-13 10:13:00.000,321,311,1,1.2
--   2013-01-13 10:14:00.000,312,320,2,3.0
--   2013-01-13 10:15:00.000,376,371,1,1.1

CREATE TABLE trips (
  medallion STRING,
  hack_license STRING,
  vendor_id STRING,
  rate_code INT,
  store_and_fwd_flag STRING,
  pickup_datetime TIMESTAMP(3),
  dropoff_datetime TIMESTAMP(3),
  passenger_count INT,
  trip_time_in_secs INT,
  trip_distance DOUBLE,
  pickup_longitude DOUBLE,
  pickup_latitude DOUBLE,
  dropoff_longitude DOUBLE,
  dropoff_latitude DOUBLE,
  WATERMARK FOR dropoff_datetime AS dropoff_datetime
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/taxi_trips.csv',
  'format' = 'csv'
);

CREATE VIEW counted AS
SELECT dropoff_datetime, cell_x, cell_y, trip_distance
FROM (
  SELECT
    dropoff_datetime,
    trip_distance,
    CAST(FLOOR((pickup_longitude + 74.913583 + 0.002993 / 2) / 0.002993) AS INT) + 1 AS cell_x,
    CAST(FLOOR((41.474937 + 0.002245778 / 2 - pickup_latitude) / 0.002245778) AS INT) + 1 AS cell_y
  FROM trips
  WHERE vendor_id = 'VTS' AND trip_distance > 1
)
WHERE cell_x BETWEEN 1 AND 600 AND cell_y BETWEEN 1 AND 600;

SELECT window_start, cell_x, cell_y, COUNT(*) AS trips, AVG(trip_distance) AS average_miles
FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(dropoff_datetime), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, cell_x, cell_y;
