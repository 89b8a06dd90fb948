-- Windows, joins and orders by processing time. The clock of these tests stands still at 2023-11-14 22:13:20, so all rows are
-- in the first windows from there on, and the windows come out when the input ends. Flink loses windows that are open at
-- that time, and its clock moves, so most answers cannot be those of Flink.
CREATE TABLE T (
  k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts
);
CREATE TABLE U (
  k STRING, w INT, p AS PROCTIME()
);
CREATE VIEW V AS SELECT k, v, PROCTIME() AS arrived FROM T;

--- input T
a,1,2024-01-01 00:00:01.000
b,2,2024-01-01 00:00:02.000
a,3,2024-01-01 00:00:00.500
a,NULL,2024-01-01 01:00:00.000

--- input U
a,10
c,30

--- query tumbling windows count rows that would be late by event time (not as Flink)
SELECT window_start, window_end, k, COUNT(*), SUM(v)
FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND)
GROUP BY window_start, window_end, k;

--- rows
2023-11-14 22:13:20.000,2023-11-14 22:13:30.000,a,3,4
2023-11-14 22:13:20.000,2023-11-14 22:13:30.000,b,1,2

--- query a row is in several sliding windows (not as Flink)
SELECT window_start, COUNT(*) AS n
FROM HOP(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND, INTERVAL '30' SECOND)
GROUP BY window_start, window_end;

--- rows
2023-11-14 22:13:00.000,4
2023-11-14 22:13:10.000,4
2023-11-14 22:13:20.000,4

--- query cumulative windows (not as Flink)
SELECT window_start, window_end, COUNT(*) AS n
FROM CUMULATE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND, INTERVAL '30' SECOND)
GROUP BY window_start, window_end;

--- rows
2023-11-14 22:13:00.000,2023-11-14 22:13:30.000,4

--- query sessions (not as Flink)
SELECT window_start, window_end, k, COUNT(*) AS n
FROM SESSION(TABLE T PARTITION BY k, DESCRIPTOR(p), INTERVAL '5' SECOND)
GROUP BY window_start, window_end, k;

--- rows
2023-11-14 22:13:20.000,2023-11-14 22:13:25.000,a,3
2023-11-14 22:13:20.000,2023-11-14 22:13:25.000,b,1

--- query windows in GROUP BY, and what reads them (not as Flink)
SELECT k, TUMBLE_START(p, INTERVAL '1' MINUTE), TUMBLE_END(p, INTERVAL '1' MINUTE), SUM(v)
FROM T GROUP BY TUMBLE(p, INTERVAL '1' MINUTE), k;

--- rows
a,2023-11-14 22:13:00.000,2023-11-14 22:14:00.000,4
b,2023-11-14 22:13:00.000,2023-11-14 22:14:00.000,2

--- query windows over windows (not as Flink)
WITH seconds AS (
  SELECT k, COUNT(*) AS n, TUMBLE_PROCTIME(p, INTERVAL '10' SECOND) AS t
  FROM T GROUP BY k, TUMBLE(p, INTERVAL '10' SECOND)
)
SELECT TUMBLE_START(t, INTERVAL '1' HOUR), SUM(n) FROM seconds GROUP BY TUMBLE(t, INTERVAL '1' HOUR);

--- rows
2023-11-14 22:00:00.000,4

--- query PROCTIME() of a view (not as Flink)
SELECT k, COUNT(v) FROM V GROUP BY k, HOP(arrived, INTERVAL '1' MINUTE, INTERVAL '1' MINUTE);

--- rows
a,2
b,1

--- query WHERE, HAVING and grouping sets (not as Flink)
SELECT k, GROUPING(k), SUM(v)
FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND) WHERE v IS NOT NULL
GROUP BY window_start, window_end, GROUPING SETS ((k), ()) HAVING SUM(v) > 2;

--- rows
a,0,4
NULL,1,6

--- query the columns of a table keep their values (not as Flink)
SELECT k, v, ts FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND);

--- rows
a,1,2024-01-01 00:00:01.000
b,2,2024-01-01 00:00:02.000
a,3,2024-01-01 00:00:00.500
a,NULL,2024-01-01 01:00:00.000

--- query the first rows of windows (not as Flink)
SELECT k, n FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC) AS rn FROM (
    SELECT window_start, window_end, k, COUNT(*) AS n
    FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND) GROUP BY window_start, window_end, k
  )
) WHERE rn = 1;

--- rows
a,3

--- query rows that come near each other
SELECT T.v, U.w FROM T JOIN U ON T.k = U.k AND T.p BETWEEN U.p - INTERVAL '1' HOUR AND U.p + INTERVAL '1' HOUR;

--- rows
1,10
3,10
NULL,10

--- query rows without a partner come out alone (not as Flink)
SELECT T.k, T.v, U.k, U.w
FROM T FULL JOIN U ON T.k = U.k AND T.p >= U.p - INTERVAL '1' HOUR AND T.p < U.p + INTERVAL '1' HOUR;

--- rows
a,1,a,10
a,3,a,10
a,NULL,a,10
b,2,NULL,NULL
NULL,NULL,c,30

--- query order by arrival
SELECT k, v FROM T ORDER BY p;

--- rows
a,1
b,2
a,3
a,NULL

--- query the order of rows that come at once (not as Flink)
SELECT k, v FROM T ORDER BY p, v DESC;

--- rows
a,NULL
a,1
b,2
a,3

--- query a window has the time by which it is cut
SELECT TUMBLE_ROWTIME(p, INTERVAL '1' MINUTE) FROM T GROUP BY TUMBLE(p, INTERVAL '1' MINUTE);

--- error INVALID
TUMBLE_ROWTIME reads a window that is cut by processing time

--- query and not the other one
SELECT TUMBLE_PROCTIME(ts, INTERVAL '1' MINUTE) FROM T GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE);

--- error INVALID
TUMBLE_PROCTIME reads a window that is cut by event time

--- query windows over processing time do not join
SELECT a.k FROM
  (SELECT window_start, window_end, k FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND)) a
  JOIN (SELECT window_start, window_end, k FROM TUMBLE(TABLE U, DESCRIPTOR(p), INTERVAL '10' SECOND)) b
  ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.k = b.k;

--- error UNSUPPORTED
a join of windows over processing time

--- query the event time ends at a window over processing time
SELECT window_start, COUNT(*) FROM
  TUMBLE((SELECT k, ts, window_start AS s FROM TUMBLE(TABLE T, DESCRIPTOR(p), INTERVAL '10' SECOND)), DESCRIPTOR(ts), INTERVAL '1' HOUR)
GROUP BY window_start, window_end;

--- error INVALID
`ts` is no event time
