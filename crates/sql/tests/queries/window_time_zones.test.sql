-- Windows over instants (TIMESTAMP_LTZ): they begin and end by the clock of the session's zone, and are shown by it.
-- DIFFERS FROM FLINK: queries named "(not as Flink)" are answered as documented; Flink 2.3 puts the rows into these windows, too,
-- but loses some windows, since it looks for windows that are over at steps that are not aligned in the zone.
-- Europe/Berlin: 2024-03-31 had 23 hours, as 02:00 became 03:00; 2024-10-27 had 25, as 03:00 became 02:00.
SET 'table.local-time-zone' = 'Europe/Berlin';
CREATE TABLE Spring (id INT, z TIMESTAMP_LTZ(3), WATERMARK FOR z AS z);
CREATE TABLE Autumn (id INT, z TIMESTAMP_LTZ(3), WATERMARK FOR z AS z);

--- input Spring
1,2024-03-30 22:59:59.999Z
2,2024-03-30 23:00:00.000Z
3,2024-03-31 00:59:59.999Z
4,2024-03-31 01:00:00.000Z
5,2024-03-31 21:59:59.999Z
6,2024-03-31 22:00:00.000Z

--- input Autumn
1,2024-10-26 21:59:59.999Z
2,2024-10-26 22:00:00.000Z
3,2024-10-27 00:30:00.000Z
4,2024-10-27 02:30:00.000Z
5,2024-10-27 22:59:59.999Z
6,2024-10-27 23:00:00.000Z

--- query days of Berlin, one of 23 hours (not as Flink)
SELECT window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

--- rows
2024-03-30 00:00:00.000,2024-03-31 00:00:00.000,1,1,1
2024-03-31 00:00:00.000,2024-04-01 00:00:00.000,4,2,5
2024-04-01 00:00:00.000,2024-04-02 00:00:00.000,1,6,6

--- query days of Berlin, one of 25 hours
SELECT window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE Autumn, DESCRIPTOR(z), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

--- rows
2024-10-26 00:00:00.000,2024-10-27 00:00:00.000,1,1,1
2024-10-27 00:00:00.000,2024-10-28 00:00:00.000,4,2,5
2024-10-28 00:00:00.000,2024-10-29 00:00:00.000,1,6,6

--- query hours: the one from two to three does not exist
SELECT window_start, window_end, COUNT(*)
FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-30 23:00:00.000,2024-03-31 00:00:00.000,1
2024-03-31 00:00:00.000,2024-03-31 01:00:00.000,1
2024-03-31 01:00:00.000,2024-03-31 02:00:00.000,1
2024-03-31 03:00:00.000,2024-03-31 04:00:00.000,1
2024-03-31 23:00:00.000,2024-04-01 00:00:00.000,1
2024-04-01 00:00:00.000,2024-04-01 01:00:00.000,1

--- query rows with their windows
SELECT id, z, window_start, window_end FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '12' HOUR)) WHERE id IN (3, 4, 5);

--- rows
3,2024-03-31 01:59:59.999,2024-03-31 00:00:00.000,2024-03-31 12:00:00.000
4,2024-03-31 03:00:00.000,2024-03-31 00:00:00.000,2024-03-31 12:00:00.000
5,2024-03-31 23:59:59.999,2024-03-31 12:00:00.000,2024-04-01 00:00:00.000

--- set 'table.local-time-zone' = 'UTC'
--- query the same days by UTC
SELECT window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

--- rows
2024-03-30 00:00:00.000,2024-03-31 00:00:00.000,2,1,2
2024-03-31 00:00:00.000,2024-04-01 00:00:00.000,4,3,6

--- set 'table.local-time-zone' = 'Asia/Kolkata'
--- query days of a zone of half hours (not as Flink)
SELECT window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

--- rows
2024-03-31 00:00:00.000,2024-04-01 00:00:00.000,4,1,4
2024-04-01 00:00:00.000,2024-04-02 00:00:00.000,2,5,6

--- query rows with their days in a zone of half hours
SELECT id, z, window_start, window_end, window_time FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY)) WHERE id >= 4;

--- rows
4,2024-03-31 06:30:00.000,2024-03-31 00:00:00.000,2024-04-01 00:00:00.000,2024-03-31 23:59:59.999
5,2024-04-01 03:29:59.999,2024-04-01 00:00:00.000,2024-04-02 00:00:00.000,2024-04-01 23:59:59.999
6,2024-04-01 03:30:00.000,2024-04-01 00:00:00.000,2024-04-02 00:00:00.000,2024-04-01 23:59:59.999

--- set 'table.local-time-zone' = 'America/New_York'
--- query an aggregate over days west of UTC has all rows, though the time is carried no further
SELECT window_start, COUNT(*), SUM(n)
FROM (
  SELECT window_start, window_end, id, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
  GROUP BY window_start, window_end, id
)
GROUP BY window_start, window_end;

--- rows
2024-03-30 00:00:00.000,4,4
2024-03-31 00:00:00.000,2,2

--- query grouping sets of days west of UTC
SELECT window_start, id, COUNT(*)
FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
WHERE id >= 4
GROUP BY window_start, window_end, GROUPING SETS ((id), ());

--- rows
2024-03-30 00:00:00.000,4,1
2024-03-30 00:00:00.000,NULL,1
2024-03-31 00:00:00.000,5,1
2024-03-31 00:00:00.000,6,1
2024-03-31 00:00:00.000,NULL,2

--- query the first of days west of UTC
SELECT window_start, id
FROM (
  SELECT id, window_start, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY id) AS rn
  FROM TABLE(TUMBLE(TABLE Spring, DESCRIPTOR(z), INTERVAL '1' DAY))
)
WHERE rn = 1;

--- rows
2024-03-30 00:00:00.000,1
2024-03-31 00:00:00.000,5

--- set 'table.local-time-zone' = 'Europe/Berlin'
--- query sessions go by readings: rows a millisecond apart lie an hour apart where clocks are put forward
SELECT window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Spring, DESCRIPTOR(z), INTERVAL '30' MINUTES))
WHERE id IN (3, 4)
GROUP BY window_start, window_end;

--- rows
2024-03-31 01:59:59.999,2024-03-31 02:29:59.999,1
2024-03-31 03:00:00.000,2024-03-31 03:30:00.000,1

--- query sessions go by readings: rows two hours apart lie an hour apart where clocks are put back
SELECT window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Autumn, DESCRIPTOR(z), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-10-26 23:59:59.999,2024-10-27 01:00:00.000,2
2024-10-27 02:30:00.000,2024-10-27 04:30:00.000,2
2024-10-27 23:59:59.999,2024-10-28 01:00:00.000,2
