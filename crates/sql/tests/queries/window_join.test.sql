-- Joins of rows of the same window: inner, outer, semi and anti joins, NULL keys, conditions beside the keys. No row is late.
-- Answers: reference/window_join.py. Source: Flink's documentation, "Window JOIN" (tables LeftTable, RightTable are its own).
CREATE TABLE LeftTable (
  row_time TIMESTAMP(3), num INT, id STRING,
  WATERMARK FOR row_time AS row_time - INTERVAL '1' SECOND
);
CREATE TABLE RightTable (
  row_time TIMESTAMP(3), num INT, id STRING,
  WATERMARK FOR row_time AS row_time - INTERVAL '1' SECOND
);
CREATE TABLE Ads (
  ad INT, k STRING, cost DECIMAL(6, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND
);
CREATE TABLE Hits (
  hit INT, k STRING, worth DECIMAL(6, 2), ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '30' SECOND
);

--- input LeftTable
2020-04-15 12:02:00.000,1,L1
2020-04-15 12:03:00.000,3,L3
2020-04-15 12:06:00.000,2,L2

--- input RightTable
2020-04-15 12:01:00.000,2,R2
2020-04-15 12:04:00.000,3,R3
2020-04-15 12:05:00.000,4,R4

--- input Ads
1,a,1.00,2024-06-01 12:00:00.000
2,b,2.00,2024-06-01 12:00:09.999
3,a,3.00,2024-06-01 12:00:10.000
4,NULL,4.00,2024-06-01 12:00:05.000
5,a,5.00,2024-06-01 12:00:04.000
6,c,NULL,2024-06-01 12:00:25.000
7,b,7.00,2024-06-01 12:00:31.000

--- input Hits
11,a,0.50,2024-06-01 12:00:03.000
12,a,4.00,2024-06-01 12:00:01.000
13,b,9.00,2024-06-01 12:00:10.000
14,NULL,1.00,2024-06-01 12:00:02.000
15,a,3.00,2024-06-01 12:00:19.999
16,c,2.00,2024-06-01 12:00:29.000
17,c,NULL,2024-06-01 12:00:20.000
18,d,8.00,2024-06-01 12:00:32.000

--- query the documentation's full join
SELECT L.num AS L_Num, L.id AS L_Id, R.num AS R_Num, R.id AS R_Id,
  COALESCE(L.window_start, R.window_start) AS window_start, COALESCE(L.window_end, R.window_end) AS window_end
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
ON L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end;

--- rows
3,L3,3,R3,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000
1,L1,NULL,NULL,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000
2,L2,NULL,NULL,2020-04-15 12:05:00.000,2020-04-15 12:10:00.000
NULL,NULL,2,R2,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000
NULL,NULL,4,R4,2020-04-15 12:05:00.000,2020-04-15 12:10:00.000

--- query the same as an inner join
SELECT L.num AS L_Num, L.id AS L_Id, R.num AS R_Num, R.id AS R_Id,
  COALESCE(L.window_start, R.window_start) AS window_start, COALESCE(L.window_end, R.window_end) AS window_end
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
INNER JOIN (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
ON L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end;

--- rows
3,L3,3,R3,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000

--- query the documentation's semi join by IN
SELECT *
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
WHERE L.num IN (
  SELECT num FROM (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
  WHERE L.window_start = R.window_start AND L.window_end = R.window_end
);

--- rows
2020-04-15 12:03:00.000,3,L3,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000,2020-04-15 12:04:59.999

--- query the same by EXISTS
SELECT *
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
WHERE EXISTS (
  SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
  WHERE L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end
);

--- rows
2020-04-15 12:03:00.000,3,L3,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000,2020-04-15 12:04:59.999

--- query the documentation's anti join by NOT IN
SELECT *
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
WHERE L.num NOT IN (
  SELECT num FROM (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
  WHERE L.window_start = R.window_start AND L.window_end = R.window_end
);

--- rows
2020-04-15 12:02:00.000,1,L1,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000,2020-04-15 12:04:59.999
2020-04-15 12:06:00.000,2,L2,2020-04-15 12:05:00.000,2020-04-15 12:10:00.000,2020-04-15 12:09:59.999

--- query the same by NOT EXISTS
SELECT *
FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
WHERE NOT EXISTS (
  SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
  WHERE L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end
);

--- rows
2020-04-15 12:02:00.000,1,L1,2020-04-15 12:00:00.000,2020-04-15 12:05:00.000,2020-04-15 12:04:59.999
2020-04-15 12:06:00.000,2,L2,2020-04-15 12:05:00.000,2020-04-15 12:10:00.000,2020-04-15 12:09:59.999

--- query inner, where NULL joins nothing
SELECT A.ad, H.hit, A.k, A.window_start
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
INNER JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,11,a,2024-06-01 12:00:00.000
1,12,a,2024-06-01 12:00:00.000
3,15,a,2024-06-01 12:00:10.000
5,11,a,2024-06-01 12:00:00.000
5,12,a,2024-06-01 12:00:00.000
6,16,c,2024-06-01 12:00:20.000
6,17,c,2024-06-01 12:00:20.000

--- query left
SELECT A.ad, A.k, H.hit, H.window_start
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
LEFT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,a,11,2024-06-01 12:00:00.000
1,a,12,2024-06-01 12:00:00.000
3,a,15,2024-06-01 12:00:10.000
5,a,11,2024-06-01 12:00:00.000
5,a,12,2024-06-01 12:00:00.000
6,c,16,2024-06-01 12:00:20.000
6,c,17,2024-06-01 12:00:20.000
2,b,NULL,NULL
4,NULL,NULL,NULL
7,b,NULL,NULL

--- query right
SELECT A.ad, H.hit, H.k, H.window_start
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
RIGHT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,11,a,2024-06-01 12:00:00.000
1,12,a,2024-06-01 12:00:00.000
3,15,a,2024-06-01 12:00:10.000
5,11,a,2024-06-01 12:00:00.000
5,12,a,2024-06-01 12:00:00.000
6,16,c,2024-06-01 12:00:20.000
6,17,c,2024-06-01 12:00:20.000
NULL,13,b,2024-06-01 12:00:10.000
NULL,14,NULL,2024-06-01 12:00:00.000
NULL,18,d,2024-06-01 12:00:30.000

--- query full
SELECT A.ad, A.k, H.hit, H.k
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,a,11,a
1,a,12,a
3,a,15,a
5,a,11,a
5,a,12,a
6,c,16,c
6,c,17,c
2,b,NULL,NULL
4,NULL,NULL,NULL
7,b,NULL,NULL
NULL,NULL,13,b
NULL,NULL,14,NULL
NULL,NULL,18,d

--- query a condition beside the keys is part of the join
SELECT A.ad, H.hit, A.cost, H.worth
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
LEFT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end AND H.worth > A.cost;

--- rows
1,12,1.00,4.00
2,NULL,2.00,NULL
3,NULL,3.00,NULL
4,NULL,4.00,NULL
5,NULL,5.00,NULL
6,NULL,NULL,NULL
7,NULL,7.00,NULL

--- query a condition behind the join is not
SELECT A.ad, H.hit, A.cost, H.worth
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
LEFT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end
WHERE H.worth > A.cost;

--- rows
1,12,1.00,4.00

--- query without another key every pair of a window
SELECT A.ad, H.hit
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))) H
ON A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,11
1,12
1,14
2,11
2,12
2,14
3,13
3,15
4,11
4,12
4,14
5,11
5,12
5,14
6,16
6,17
7,18

--- query a table with itself
SELECT A.ad, B.ad, A.k
FROM (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) A
JOIN (SELECT * FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))) B
ON A.k = B.k AND A.window_start = B.window_start AND A.window_end = B.window_end
WHERE A.ad < B.ad;

--- rows
1,5,a

--- query results of window aggregates
SELECT A.k, A.n, H.n, A.window_end
FROM (
  SELECT k, window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY k, window_start, window_end
) A
JOIN (
  SELECT k, window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY k, window_start, window_end
) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
a,2,2,2024-06-01 12:00:10.000
a,1,1,2024-06-01 12:00:20.000
c,1,2,2024-06-01 12:00:30.000

--- query of sliding windows
SELECT A.ad, H.hit, A.window_start, A.window_end
FROM (SELECT * FROM TABLE(HOP(TABLE Ads, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND))) A
JOIN (SELECT * FROM TABLE(HOP(TABLE Hits, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND))) H
ON A.k = H.k AND A.window_start = H.window_start AND A.window_end = H.window_end;

--- rows
1,11,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
1,12,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
1,15,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
1,11,2024-06-01 11:59:50.000,2024-06-01 12:00:10.000
1,12,2024-06-01 11:59:50.000,2024-06-01 12:00:10.000
2,13,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
3,15,2024-06-01 12:00:10.000,2024-06-01 12:00:30.000
3,11,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
3,12,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
3,15,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
5,11,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
5,12,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
5,15,2024-06-01 12:00:00.000,2024-06-01 12:00:20.000
5,11,2024-06-01 11:59:50.000,2024-06-01 12:00:10.000
5,12,2024-06-01 11:59:50.000,2024-06-01 12:00:10.000
6,16,2024-06-01 12:00:20.000,2024-06-01 12:00:40.000
6,17,2024-06-01 12:00:20.000,2024-06-01 12:00:40.000
6,16,2024-06-01 12:00:10.000,2024-06-01 12:00:30.000
6,17,2024-06-01 12:00:10.000,2024-06-01 12:00:30.000

