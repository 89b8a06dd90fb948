-- Aggregate functions of a program. The functions stand in registered.rs. Answers follow Flink's documentation, "User-defined Functions".
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (k STRING, a BIGINT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE c (k INT, v BIGINT, s STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('format' = 'debezium-json');
CREATE TABLE none (a BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

--- input t
x,1,10,2024-01-01 00:00:01.000
y,2,20,2024-01-01 00:00:02.000
x,3,30,2024-01-01 00:00:03.000
x,NULL,5,2024-01-01 00:00:11.000
y,5,50,2024-01-01 00:00:12.000
x,3,1,2024-01-01 00:00:25.000

--- input c
+I,1,10,p
+I,2,20,q
-U,1,10,p
+U,1,11,r
-D,2,20,q
+I,3,30,q
+I,4,40,r

--- input none

--- query GROUP BY, beside built-in functions
SELECT k, total(a), SUM(a), weighted(a, w), COUNT(*) FROM t GROUP BY k;

--- changelog
+I,x,7,7,103,4
+I,y,7,7,290,2

--- query without GROUP BY, with an expression around it
SELECT plus_one(total(a)) + 1, shout(most_often(k)) FROM t;

--- changelog
+I,16,x!

--- query FILTER and DISTINCT
SELECT k, total(a) FILTER (WHERE w > 10), total(DISTINCT a), Total(a + w) FROM t GROUP BY k;

--- changelog
+I,x,3,4,48
+I,y,7,7,77

--- query a filter that keeps nothing gives the value of no rows
SELECT k, total(a) FILTER (WHERE w > 100) FROM t GROUP BY k;

--- changelog
+I,x,NULL
+I,y,NULL

--- query HAVING
SELECT k FROM t GROUP BY k HAVING most_often(k) = 'y' AND total(w) > 0;

--- changelog
+I,y

--- query tumbling windows
SELECT window_start, k, total(a), most_often(k) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, k;

--- rows
2024-01-01 00:00:00.000,x,4,x
2024-01-01 00:00:00.000,y,2,y
2024-01-01 00:00:10.000,x,NULL,x
2024-01-01 00:00:10.000,y,5,y
2024-01-01 00:00:20.000,x,3,x

--- query sliding windows, whose panes are merged
SELECT window_start, total(a), weighted(a, w) FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND) GROUP BY window_start, window_end;

--- rows
2023-12-31 23:59:50.000,6,140
2024-01-01 00:00:00.000,11,390
2024-01-01 00:00:10.000,8,253
2024-01-01 00:00:20.000,3,3

--- query cumulative windows
SELECT window_end, total(a) FROM CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND) GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:10.000,6
2024-01-01 00:00:20.000,11
2024-01-01 00:00:30.000,14

--- query sessions, which are merged
SELECT window_start, k, total(a), most_often(k) FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, k;

--- rows
2024-01-01 00:00:01.000,x,4,x
2024-01-01 00:00:02.000,y,7,y
2024-01-01 00:00:25.000,x,3,x

--- query grouping sets in a window
SELECT window_start, k, total(a) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '30' SECOND) GROUP BY window_start, window_end, GROUPING SETS ((k), ());

--- rows
2024-01-01 00:00:00.000,x,7
2024-01-01 00:00:00.000,y,7
2024-01-01 00:00:00.000,NULL,14

--- query an ordered function
SELECT k, in_order(CAST(w AS STRING)) FROM t GROUP BY k;

--- changelog
+I,x,10+30+5+1
+I,y,20+50

--- query an ordered function in windows
SELECT window_start, in_order(k) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,x+y+x+x+y
2024-01-01 00:00:20.000,x

--- query OVER without a lower bound
SELECT k, w, total(a) OVER (PARTITION BY k ORDER BY ts), in_order(k) OVER (PARTITION BY k ORDER BY ts) FROM t;

--- rows
x,10,1,x
y,20,2,y
x,30,4,x+x
x,5,4,x+x+x
y,50,7,y+y
x,1,7,x+x+x+x

--- query OVER a number of rows
SELECT w, total(a) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;

--- rows
10,1
20,2
30,4
5,3
50,7
1,3

--- query OVER a span of time
SELECT w, most_often(k) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW) FROM t;

--- rows
10,x
20,x
30,x
5,x
50,x
1,x

--- query a frame with a lower bound needs retractions
SELECT in_order(k) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t;

--- error UNSUPPORTED
IN_ORDER

--- query rows that change
SELECT total(v), most_often(s), COUNT(*) FROM c;

--- changelog
+I,81,r,3

--- query rows that change, by key
SELECT s, total(v), weighted(v, k) FROM c GROUP BY s;

--- changelog
+I,q,30,90
+I,r,51,171

--- query rows that change, twice aggregated
SELECT total(n) FROM (SELECT s, total(v) AS n FROM c GROUP BY s) AS w;

--- changelog
+I,81

--- query rows that change need retractions
SELECT in_order(s) FROM c;

--- error UNSUPPORTED
IN_ORDER

--- query DISTINCT over rows that change
SELECT COUNT(DISTINCT s), total(DISTINCT v) FROM c;

--- changelog
+I,2,81

--- query no rows have no groups
SELECT total(a) FROM none;

--- changelog

--- query a sub-query
SELECT k, a FROM t WHERE a = (SELECT total(v) FROM (VALUES (1), (2)) AS x (v)) AND k = 'x';

--- changelog
+I,x,3
+I,x,3

--- query types
SELECT TYPEOF(total(a)), TYPEOF(in_order(k)) FROM t;

--- changelog
+I,BIGINT,STRING NOT NULL

--- query an argument of another type
SELECT total(k) FROM t;

--- error TYPE_MISMATCH
TOTAL: argument 1 is STRING, and BIGINT is taken

--- query a wrong number of arguments
SELECT weighted(a) FROM t;

--- error TYPE_MISMATCH
WEIGHTED: its signature has 2 arguments, and the call has 1

--- query an aggregate of an aggregate
SELECT total(total(a)) FROM t;

--- error INVALID
TOTAL takes no aggregate

--- query an aggregate in WHERE
SELECT k FROM t WHERE total(a) > 1;

--- error INVALID
TOTAL is an aggregate, and stands where there are no groups

--- query a column that is no key
SELECT k, total(a) FROM t;

--- error INVALID
k

--- query an error
SELECT total(a + 1299) FROM t;

--- error USER_FUNCTION
the user function TOTAL failed: 1300 is too much

--- query a panic
SELECT k, total(a + 1399) FROM t GROUP BY k;

--- error USER_FUNCTION
the user function TOTAL panicked: 1400 is too much

--- query a panic in a window
SELECT total(a + 1399) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end;

--- error USER_FUNCTION
the user function TOTAL panicked: 1400 is too much

--- query a panic with OVER
SELECT total(a + 1399) OVER (ORDER BY ts) FROM t;

--- error USER_FUNCTION
the user function TOTAL panicked: 1400 is too much

--- query an error of DISTINCT
SELECT total(DISTINCT a + 1299) FROM t;

--- error USER_FUNCTION
the user function TOTAL failed: 1300 is too much

--- query NULL in NOT NULL
SELECT total_not_null(a) FROM t WHERE a IS NULL;

--- error USER_FUNCTION
the user function TOTAL_NOT_NULL returned NULL, and promised BIGINT NOT NULL

--- query a wrong type
SELECT wrong_total(a) FROM t;

--- error USER_FUNCTION
the user function WRONG_TOTAL returned Int64, and promised INT, which is Int32
