-- Windows over tables whose rows change: results come out once, when the window ends, without the rows that were taken back
-- until then. Changes of windows that have ended are late.
--
-- DIFFERS FROM FLINK: with OFFSET, Flink 2.3 leaves rows that were taken back. It keeps MAX of an event time as an event time.
-- It refuses OVER by time over rows that change.
--
-- Source: Flink, `FlinkChangelogModeInferenceProgram` (window aggregates take all changes), "Window Aggregation".
CREATE TABLE orders (
  id INT, k STRING, v INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '2' SECOND, PRIMARY KEY (id) NOT ENFORCED
) WITH ('format' = 'debezium-json');

CREATE TABLE clicks (
  u STRING, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts
);

CREATE TABLE rates (
  k STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED
);

CREATE VIEW rated AS
SELECT o.k, o.v, o.ts, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k;

CREATE VIEW last_click AS
SELECT u, page, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY ts DESC) AS rn FROM clicks) WHERE rn = 1;

--- input orders
+I,1,a,10,2024-01-01 00:00:01.000
+I,2,a,20,2024-01-01 00:00:02.000
+I,3,b,30,2024-01-01 00:00:03.000
-U,1,a,10,2024-01-01 00:00:01.000
+U,1,a,11,2024-01-01 00:00:04.000
-D,3,b,30,2024-01-01 00:00:03.000
+I,4,b,40,2024-01-01 00:00:08.000
-D,2,a,20,2024-01-01 00:00:02.000
+I,5,a,50,2024-01-01 00:00:09.000
-U,5,a,50,2024-01-01 00:00:09.000
+U,5,b,55,2024-01-01 00:00:09.500
+I,6,b,60,2024-01-01 00:00:12.000

--- input clicks
x,p1,2024-01-01 00:00:01.000
y,p1,2024-01-01 00:00:02.000
x,p2,2024-01-01 00:00:04.000
y,p3,2024-01-01 00:00:07.000
x,p9,2024-01-01 00:00:12.000

--- input rates
a,1,2024-01-01 00:00:00.000
b,2,2024-01-01 00:00:00.000

--- query a tumbling window takes rows back until it ends
SELECT window_start, window_end, k, COUNT(*), SUM(v)
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end, k;

--- rows
2024-01-01 00:00:00.000,2024-01-01 00:00:05.000,a,2,31
2024-01-01 00:00:05.000,2024-01-01 00:00:10.000,b,2,95
2024-01-01 00:00:10.000,2024-01-01 00:00:15.000,b,1,60

--- query a tumbling window without keys
SELECT window_start, COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT k)
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,2,31,11,20,1
2024-01-01 00:00:05.000,2,95,40,55,1
2024-01-01 00:00:10.000,1,60,60,60,1

--- query a window whose rows were all taken back has no result
SELECT window_start, SUM(v)
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' SECOND)
WHERE k = 'a' AND v <> 20
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:04.000,11

--- query aggregates with FILTER, and in the order of rows
SELECT window_start, SUM(v) FILTER (WHERE v > 15), AVG(v), FIRST_VALUE(v), LAST_VALUE(v), LISTAGG(k)
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,20,15,20,11,"a,a"
2024-01-01 00:00:05.000,95,47,40,55,"b,b"
2024-01-01 00:00:10.000,60,60,60,60,b

--- query a sliding window takes a late row back from the windows that have not ended
SELECT window_start, window_end, COUNT(*), SUM(v)
FROM HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)
GROUP BY window_start, window_end;

--- rows
2023-12-31 23:59:55.000,2024-01-01 00:00:05.000,2,31
2024-01-01 00:00:00.000,2024-01-01 00:00:10.000,3,106
2024-01-01 00:00:05.000,2024-01-01 00:00:15.000,3,155
2024-01-01 00:00:10.000,2024-01-01 00:00:20.000,1,60

--- query a cumulative window takes a late row back from the windows that have not ended
SELECT window_start, window_end, COUNT(*), SUM(v)
FROM CUMULATE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,2024-01-01 00:00:05.000,2,31
2024-01-01 00:00:00.000,2024-01-01 00:00:10.000,3,106
2024-01-01 00:00:10.000,2024-01-01 00:00:15.000,1,60
2024-01-01 00:00:10.000,2024-01-01 00:00:20.000,1,60

--- query a session stays as long as it was with the rows that were taken back
SELECT window_start, window_end, k, COUNT(*), SUM(v)
FROM SESSION(TABLE orders PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND)
GROUP BY window_start, window_end, k;

--- rows
2024-01-01 00:00:01.000,2024-01-01 00:00:07.000,a,1,11
2024-01-01 00:00:08.000,2024-01-01 00:00:15.000,b,3,155

--- query TUMBLE in GROUP BY
SELECT TUMBLE_START(ts, INTERVAL '5' SECOND), k, COUNT(*), SUM(v)
FROM orders GROUP BY TUMBLE(ts, INTERVAL '5' SECOND), k;

--- rows
2024-01-01 00:00:00.000,a,2,31
2024-01-01 00:00:05.000,b,2,95
2024-01-01 00:00:10.000,b,1,60

--- query HOP in GROUP BY, with a late change
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*), SUM(v)
FROM orders GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

--- rows
2023-12-31 23:59:55.000,2,31
2024-01-01 00:00:00.000,3,106
2024-01-01 00:00:05.000,3,155
2024-01-01 00:00:10.000,1,60

--- query SESSION in GROUP BY
SELECT SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), k, COUNT(*), SUM(v)
FROM orders GROUP BY SESSION(ts, INTERVAL '3' SECOND), k;

--- rows
2024-01-01 00:00:01.000,2024-01-01 00:00:07.000,a,1,11
2024-01-01 00:00:08.000,2024-01-01 00:00:15.000,b,3,155

--- query grouping sets in windows
SELECT window_start, k, COUNT(*)
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end, GROUPING SETS ((k), ());

--- rows
2024-01-01 00:00:00.000,a,2
2024-01-01 00:00:00.000,NULL,2
2024-01-01 00:00:05.000,b,2
2024-01-01 00:00:05.000,NULL,2
2024-01-01 00:00:10.000,b,1
2024-01-01 00:00:10.000,NULL,1

--- query windows over windows over changes
SELECT TUMBLE_START(window_time, INTERVAL '10' SECOND), SUM(n) FROM (
  SELECT k, COUNT(*) AS n, window_time FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY window_start, window_end, window_time, k
) AS of_five
GROUP BY TUMBLE(window_time, INTERVAL '10' SECOND);

--- rows
2024-01-01 00:00:00.000,4
2024-01-01 00:00:10.000,1

--- query a window function alone passes changes on
SELECT window_start, id, v FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND);

--- changelog
+I,2024-01-01 00:00:00.000,1,11
+I,2024-01-01 00:00:05.000,4,40
+I,2024-01-01 00:00:05.000,5,55
+I,2024-01-01 00:00:10.000,6,60

--- query windows over the last row of each key
SELECT window_start, COUNT(*), LISTAGG(page)
FROM TUMBLE(TABLE last_click, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,1,p2
2024-01-01 00:00:05.000,1,p3
2024-01-01 00:00:10.000,1,p9

--- query windows over a temporal join of rows that change
SELECT window_start, COUNT(*), SUM(v) FROM TUMBLE(TABLE rated, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- error UNSUPPORTED
a window behind a temporal join takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query APPROX_COUNT_DISTINCT of rows that change
SELECT window_start, APPROX_COUNT_DISTINCT(v) FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- error UNSUPPORTED
APPROX_COUNT_DISTINCT cannot take rows back, and the table `orders` of 'format' = 'debezium-json' changes them

--- query the first rows of windows over changes
SELECT window_start, id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v) AS rn
  FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
) WHERE rn <= 1;

--- error UNSUPPORTED
ROW_NUMBER of a window takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query the last row of each window and key over changes
SELECT window_start, id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY ts DESC) AS rn
  FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)
) WHERE rn = 1;

--- error UNSUPPORTED
ROW_NUMBER of a window takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query a join by windows over changes
SELECT l.id, r.u FROM (SELECT * FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' SECOND)) AS l
JOIN (SELECT * FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND)) AS r
ON l.window_start = r.window_start AND l.window_end = r.window_end;

--- error UNSUPPORTED
a window join takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query OVER by time over changes (not as Flink)
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM orders;

--- changelog
+I,1,11
+I,4,40
+I,5,95
+I,6,155

--- query ORDER BY time over changes
SELECT id FROM orders ORDER BY ts;

--- error UNSUPPORTED
ORDER BY takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query the last row by arrival over changes
SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) AS rn FROM orders) WHERE rn = 1;

--- error UNSUPPORTED
ROW_NUMBER in the order of arrival takes rows that are only added, and the table `orders` of 'format' = 'debezium-json' changes them

--- query windows of a time that is computed from rows that change (not as Flink)
SELECT k, COUNT(*) FROM (SELECT k, MAX(ts) AS ts FROM orders GROUP BY k) GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND);

--- error INVALID
`ts` is no event time

--- query LIMIT of rows that change
SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) LIMIT 1;

--- changelog
+I,a,1

--- query LIMIT and OFFSET of rows that change (not as Flink)
SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM orders GROUP BY k) LIMIT 1 OFFSET 1;

--- changelog
+I,b,3

--- query rows behind a LIMIT come out when those before them are taken back
SELECT id, v FROM orders LIMIT 2;

--- changelog
+I,1,11
+I,4,40

--- query an interval join over changes is one without a bound in time (not as Flink)
SELECT o.id, c.u FROM orders AS o JOIN clicks AS c
ON o.ts BETWEEN c.ts - INTERVAL '1' SECOND AND c.ts + INTERVAL '1' SECOND;

--- changelog
+I,1,x
+I,4,y
+I,6,x
