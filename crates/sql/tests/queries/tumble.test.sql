-- TUMBLE: the documentation's example, offsets, boundaries, windows without rows, late rows, times before 1970.
-- Answers: reference/tumble.py. Source: Flink's documentation, "Windowing table-valued functions", "Window Aggregation".
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
CREATE VIEW EvenTicks AS SELECT * FROM Ticks WHERE MOD(id, 2) = 0;

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

--- query rows with their windows
SELECT * FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES));

--- rows
2020-04-15 08:05:00.000,4.00,C,supplier1,2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,2020-04-15 08:09:59.999
2020-04-15 08:07:00.000,2.00,A,supplier1,2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,2020-04-15 08:09:59.999
2020-04-15 08:09:00.000,5.00,D,supplier2,2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,2020-04-15 08:09:59.999
2020-04-15 08:11:00.000,3.00,B,supplier2,2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,2020-04-15 08:19:59.999
2020-04-15 08:13:00.000,1.00,E,supplier1,2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,2020-04-15 08:19:59.999
2020-04-15 08:17:00.000,6.00,F,supplier2,2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,2020-04-15 08:19:59.999

--- query sum of price by window
SELECT window_start, window_end, SUM(price) AS total
FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,11.00
2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,10.00

--- query without the word TABLE around it
SELECT window_start, window_end, SUM(price) AS total
FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,11.00
2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,10.00

--- query arguments by name
SELECT window_start, window_end, SUM(price) AS total
FROM TABLE(TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:00:00.000,2020-04-15 08:10:00.000,11.00
2020-04-15 08:10:00.000,2020-04-15 08:20:00.000,10.00

--- query windows moved by an offset
SELECT window_start, window_end, SUM(price) AS total
FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES, INTERVAL '1' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 08:01:00.000,2020-04-15 08:11:00.000,11.00
2020-04-15 08:11:00.000,2020-04-15 08:21:00.000,10.00

--- query windows moved back by an offset
SELECT window_start, window_end, SUM(price) AS total
FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES, INTERVAL '-2' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15 07:58:00.000,2020-04-15 08:08:00.000,6.00
2020-04-15 08:08:00.000,2020-04-15 08:18:00.000,15.00

--- query keys in any order, some of them not shown
SELECT supplier_id, MAX(price), window_end
FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))
GROUP BY supplier_id, window_end, window_start;

--- rows
supplier1,4.00,2020-04-15 08:10:00.000
supplier2,5.00,2020-04-15 08:10:00.000
supplier1,1.00,2020-04-15 08:20:00.000
supplier2,6.00,2020-04-15 08:20:00.000

--- query a window takes its start and not its end, and late rows are left out
SELECT window_start, window_end, COUNT(*), SUM(v), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE Ticks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,2024-01-01 00:00:10.000,3,8,1,5
2024-01-01 00:00:10.000,2024-01-01 00:00:20.000,4,13,3,8
2024-01-01 00:00:20.000,2024-01-01 00:00:30.000,1,10,10,10
2024-01-01 00:00:30.000,2024-01-01 00:00:40.000,1,9,9,9
2024-01-01 00:00:50.000,2024-01-01 00:01:00.000,1,-13,13,13
2024-01-01 00:01:00.000,2024-01-01 00:01:10.000,1,12,12,12

--- query the same by key, where NULL is a key as any other
SELECT k, window_start, COUNT(*), COUNT(v)
FROM TABLE(TUMBLE(TABLE Ticks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY k, window_start, window_end;

--- rows
a,2024-01-01 00:00:00.000,2,2
b,2024-01-01 00:00:00.000,1,1
a,2024-01-01 00:00:10.000,3,2
b,2024-01-01 00:00:10.000,1,1
a,2024-01-01 00:00:20.000,1,1
NULL,2024-01-01 00:00:30.000,1,1
b,2024-01-01 00:00:50.000,1,1
a,2024-01-01 00:01:00.000,1,1

--- query rows that a filter takes out still move the watermark
SELECT window_start, COUNT(*), MIN(id), MAX(id)
FROM TABLE(TUMBLE(TABLE EvenTicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,1,2,2
2024-01-01 00:00:10.000,3,4,8
2024-01-01 00:00:20.000,1,10,10
2024-01-01 00:01:00.000,1,12,12

--- query a filter behind the window function
SELECT window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE Ticks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
WHERE v > 4 AND k = 'a'
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:10.000,1
2024-01-01 00:00:20.000,1
2024-01-01 00:01:00.000,1

--- query a window of which every row is late gives nothing
SELECT window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE Ticks, DESCRIPTOR(ts), INTERVAL '1' SECOND))
GROUP BY window_start, window_end
HAVING window_start < TIMESTAMP '2024-01-01 00:00:12';

--- rows
2024-01-01 00:00:00.000,1
2024-01-01 00:00:09.000,1
2024-01-01 00:00:10.000,1
2024-01-01 00:00:11.000,2

--- query late rows are not late for the function alone
SELECT id, window_end
FROM TABLE(TUMBLE(TABLE Ticks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
WHERE id IN (6, 7, 11);

--- rows
6,2024-01-01 00:00:20.000
7,2024-01-01 00:00:10.000
11,2024-01-01 00:00:20.000

--- query windows before 1970
SELECT window_start, window_end, COUNT(*), MAX(id)
FROM TABLE(TUMBLE(TABLE Early, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows
1969-12-31 23:59:30.000,1969-12-31 23:59:40.000,1,1
1969-12-31 23:59:40.000,1969-12-31 23:59:50.000,1,2
1969-12-31 23:59:50.000,1970-01-01 00:00:00.000,1,3
1970-01-01 00:00:00.000,1970-01-01 00:00:10.000,2,6

--- query windows across 1970 with an offset
SELECT window_start, window_end, COUNT(*)
FROM TABLE(TUMBLE(TABLE Early, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND))
GROUP BY window_start, window_end;

--- rows
1969-12-31 23:59:33.000,1969-12-31 23:59:43.000,2
1969-12-31 23:59:53.000,1970-01-01 00:00:03.000,3
1970-01-01 00:00:03.000,1970-01-01 00:00:13.000,1

--- query no input, no windows
SELECT window_start, window_end, COUNT(*)
FROM TABLE(TUMBLE(TABLE Nothing, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows

--- query windows of a day
SELECT window_start, window_end, COUNT(*)
FROM TABLE(TUMBLE(TABLE Early, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end;

--- rows
1969-12-31 00:00:00.000,1970-01-01 00:00:00.000,3
1970-01-01 00:00:00.000,1970-01-02 00:00:00.000,2

--- query results are rows: computed with, filtered, renamed
SELECT CAST(window_start AS DATE) AS day_of, EXTRACT(MINUTE FROM window_end) AS until_minute, SUM(price) * 2 AS twice
FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))
GROUP BY window_start, window_end;

--- rows
2020-04-15,10,22.00
2020-04-15,20,20.00
