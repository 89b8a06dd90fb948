-- SESSION: windows that last until nothing came for a gap; with and without keys, gaps of exactly the length, rows that join two
-- sessions, late rows, times before 1970.
-- DIFFERS FROM FLINK: Flink 2.3 lets a filter behind the function sink below it, where it changes the sessions.
-- Answers: reference/session.py. Source: Flink's documentation, "Windowing table-valued functions". Sessions that touch are one.
CREATE TABLE Bid (
  bidtime TIMESTAMP(3), price DECIMAL(10, 2), item STRING, supplier_id STRING,
  WATERMARK FOR bidtime AS bidtime - INTERVAL '1' SECOND
);
CREATE TABLE Ticks (
  id INT, k STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
);
CREATE TABLE Early (
  id INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts
);
CREATE TABLE Nothing (
  id INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts
);
CREATE TABLE Visits (
  id INT, who STRING, page STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
);
CREATE VIEW Cheap AS SELECT * FROM Bid WHERE price < 5;

--- input Bid
2020-04-15 08:05:00.000,4.00,C,supplier1
2020-04-15 08:07:00.000,2.00,A,supplier1
2020-04-15 08:09:00.000,5.00,D,supplier2
2020-04-15 08:11:00.000,3.00,B,supplier2
2020-04-15 08:13:00.000,1.00,E,supplier1
2020-04-15 08:17:00.000,6.00,F,supplier2

--- input Ticks
1,a,1,2024-01-01 00:00:00.000
2,a,2,2024-01-01 00:00:09.999
3,b,3,2024-01-01 00:00:10.000
4,a,4,2024-01-01 00:00:11.998
5,b,5,2024-01-01 00:00:05.000
6,a,6,2024-01-01 00:00:11.999
7,b,7,2024-01-01 00:00:09.000
8,a,NULL,2024-01-01 00:00:12.000
9,NULL,9,2024-01-01 00:00:31.500
10,a,10,2024-01-01 00:00:25.000
11,b,11,2024-01-01 00:00:19.999
12,a,12,2024-01-01 00:01:00.000
13,b,-13,2024-01-01 00:00:50.001
14,a,14,2024-01-01 00:00:31.000

--- input Early
1,1969-12-31 23:59:39.999
2,1969-12-31 23:59:40.000
3,1969-12-31 23:59:59.999
4,1970-01-01 00:00:00.001
5,1969-12-31 23:59:59.998
6,1970-01-01 00:00:09.999

--- input Nothing

--- input Visits
1,ann,home,2024-05-01 10:00:00.000
2,bea,home,2024-05-01 10:00:02.000
3,ann,list,2024-05-01 10:00:09.999
4,bea,list,2024-05-01 10:00:07.000
5,ann,item,2024-05-01 10:00:04.000
6,bea,item,2024-05-01 10:00:12.000
7,ann,home,2024-05-01 10:00:15.000
8,NULL,home,2024-05-01 10:00:15.500
9,bea,cart,2024-05-01 10:00:22.000
10,ann,cart,2024-05-01 10:00:30.000
11,bea,late,2024-05-01 10:00:13.000
12,bea,home,2024-05-01 10:00:21.000
13,ann,late,2024-05-01 10:00:01.000
14,NULL,home,2024-05-01 10:00:40.000
15,bea,home,2024-05-01 10:00:34.000
16,bea,home,2024-05-01 10:00:30.500

--- query sum of price by session, for all rows together
SELECT window_start, window_end, SUM(price), COUNT(*)
FROM TABLE(SESSION(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:05:00.000,2020-04-15 08:15:00.000,15.00,5
2020-04-15 08:17:00.000,2020-04-15 08:19:00.000,6.00,1

--- query sum of price by session of each supplier
SELECT supplier_id, window_start, window_end, SUM(price)
FROM TABLE(SESSION(TABLE Bid PARTITION BY supplier_id, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES))
GROUP BY supplier_id, window_start, window_end;

--- rows
supplier1,2020-04-15 08:05:00.000,2020-04-15 08:09:00.000,6.00
supplier2,2020-04-15 08:09:00.000,2020-04-15 08:13:00.000,8.00
supplier1,2020-04-15 08:13:00.000,2020-04-15 08:15:00.000,1.00
supplier2,2020-04-15 08:17:00.000,2020-04-15 08:19:00.000,6.00

--- query rows with their sessions
SELECT item, supplier_id, window_start, window_end, window_time
FROM TABLE(SESSION(TABLE Bid PARTITION BY supplier_id, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES));

--- rows
C,supplier1,2020-04-15 08:05:00.000,2020-04-15 08:12:00.000,2020-04-15 08:11:59.999
A,supplier1,2020-04-15 08:05:00.000,2020-04-15 08:12:00.000,2020-04-15 08:11:59.999
D,supplier2,2020-04-15 08:09:00.000,2020-04-15 08:16:00.000,2020-04-15 08:15:59.999
B,supplier2,2020-04-15 08:09:00.000,2020-04-15 08:16:00.000,2020-04-15 08:15:59.999
E,supplier1,2020-04-15 08:13:00.000,2020-04-15 08:18:00.000,2020-04-15 08:17:59.999
F,supplier2,2020-04-15 08:17:00.000,2020-04-15 08:22:00.000,2020-04-15 08:21:59.999

--- query arguments by name
SELECT supplier_id, window_start, window_end, COUNT(*)
FROM TABLE(SESSION(DATA => TABLE Bid PARTITION BY supplier_id, TIMECOL => DESCRIPTOR(bidtime), GAP => INTERVAL '5' MINUTES))
GROUP BY supplier_id, window_start, window_end;

--- rows
supplier1,2020-04-15 08:05:00.000,2020-04-15 08:12:00.000,2
supplier2,2020-04-15 08:09:00.000,2020-04-15 08:16:00.000,2
supplier1,2020-04-15 08:13:00.000,2020-04-15 08:18:00.000,1
supplier2,2020-04-15 08:17:00.000,2020-04-15 08:22:00.000,1

--- query a gap of exactly the length does not end a session, a millisecond more does
SELECT who, window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(SESSION(TABLE Visits PARTITION BY who, DESCRIPTOR(ts), INTERVAL '5' SECOND))
GROUP BY who, window_start, window_end;

--- rows
ann,2024-05-01 10:00:00.000,2024-05-01 10:00:09.000,2,1,5
ann,2024-05-01 10:00:09.999,2024-05-01 10:00:14.999,1,3,3
bea,2024-05-01 10:00:02.000,2024-05-01 10:00:17.000,3,2,6
ann,2024-05-01 10:00:15.000,2024-05-01 10:00:20.000,1,7,7
NULL,2024-05-01 10:00:15.500,2024-05-01 10:00:20.500,1,8,8
bea,2024-05-01 10:00:21.000,2024-05-01 10:00:27.000,2,9,12
ann,2024-05-01 10:00:30.000,2024-05-01 10:00:35.000,1,10,10
NULL,2024-05-01 10:00:40.000,2024-05-01 10:00:45.000,1,14,14
bea,2024-05-01 10:00:30.500,2024-05-01 10:00:39.000,2,15,16

--- query a longer gap, with a row that joins two sessions
SELECT who, window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Visits PARTITION BY who, DESCRIPTOR(ts), INTERVAL '8' SECOND))
GROUP BY who, window_start, window_end;

--- rows
bea,2024-05-01 10:00:02.000,2024-05-01 10:00:20.000,3
NULL,2024-05-01 10:00:15.500,2024-05-01 10:00:23.500,1
bea,2024-05-01 10:00:13.000,2024-05-01 10:00:30.000,3
ann,2024-05-01 10:00:00.000,2024-05-01 10:00:23.000,5
ann,2024-05-01 10:00:30.000,2024-05-01 10:00:38.000,1
NULL,2024-05-01 10:00:40.000,2024-05-01 10:00:48.000,1
bea,2024-05-01 10:00:30.500,2024-05-01 10:00:42.000,2

--- query late rows for all together
SELECT window_start, window_end, COUNT(*), MIN(id), MAX(id)
FROM TABLE(SESSION(TABLE Visits, DESCRIPTOR(ts), INTERVAL '4' SECOND))
GROUP BY window_start, window_end;

--- rows
2024-05-01 10:00:00.000,2024-05-01 10:00:19.500,8,1,8
2024-05-01 10:00:21.000,2024-05-01 10:00:26.000,2,9,12
2024-05-01 10:00:40.000,2024-05-01 10:00:44.000,1,14,14
2024-05-01 10:00:30.000,2024-05-01 10:00:38.000,3,10,16

--- query by two columns
SELECT who, page, window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Visits PARTITION BY (who, page), DESCRIPTOR(ts), INTERVAL '20' SECOND))
GROUP BY who, page, window_start, window_end;

--- rows
ann,list,2024-05-01 10:00:09.999,2024-05-01 10:00:29.999,1
bea,list,2024-05-01 10:00:07.000,2024-05-01 10:00:27.000,1
ann,item,2024-05-01 10:00:04.000,2024-05-01 10:00:24.000,1
ann,late,2024-05-01 10:00:01.000,2024-05-01 10:00:21.000,1
bea,item,2024-05-01 10:00:12.000,2024-05-01 10:00:32.000,1
ann,home,2024-05-01 10:00:00.000,2024-05-01 10:00:35.000,2
NULL,home,2024-05-01 10:00:15.500,2024-05-01 10:00:35.500,1
bea,cart,2024-05-01 10:00:22.000,2024-05-01 10:00:42.000,1
ann,cart,2024-05-01 10:00:30.000,2024-05-01 10:00:50.000,1
bea,late,2024-05-01 10:00:13.000,2024-05-01 10:00:33.000,1
NULL,home,2024-05-01 10:00:40.000,2024-05-01 10:01:00.000,1
bea,home,2024-05-01 10:00:02.000,2024-05-01 10:00:54.000,4

--- query a filter before the function makes other sessions
SELECT window_start, window_end, SUM(price)
FROM TABLE(SESSION(TABLE Cheap, DESCRIPTOR(bidtime), INTERVAL '3' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:05:00.000,2020-04-15 08:10:00.000,6.00
2020-04-15 08:11:00.000,2020-04-15 08:16:00.000,4.00

--- query a filter behind the function does not (not as Flink)
SELECT window_start, window_end, SUM(price)
FROM TABLE(SESSION(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '3' MINUTES))
WHERE price < 5
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:05:00.000,2020-04-15 08:16:00.000,10.00

--- query ticks by key
SELECT k, window_start, window_end, COUNT(*), SUM(v)
FROM TABLE(SESSION(TABLE Ticks PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND))
GROUP BY k, window_start, window_end;

--- rows
a,2024-01-01 00:00:00.000,2024-01-01 00:00:03.000,1,1
b,2024-01-01 00:00:09.000,2024-01-01 00:00:13.000,2,10
a,2024-01-01 00:00:09.999,2024-01-01 00:00:15.000,4,12
NULL,2024-01-01 00:00:31.500,2024-01-01 00:00:34.500,1,9
a,2024-01-01 00:01:00.000,2024-01-01 00:01:03.000,1,12

--- query sessions before and across 1970
SELECT window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Early, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows
1969-12-31 23:59:39.999,1969-12-31 23:59:50.000,2
1969-12-31 23:59:59.998,1970-01-01 00:00:19.999,4

--- query no input, no sessions
SELECT window_start, window_end, COUNT(*)
FROM TABLE(SESSION(TABLE Nothing, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows

