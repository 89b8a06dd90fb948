-- Forms that a query may be written in, and what they mean: results beside `*`, brackets, positions, cells of VALUES of several
-- types. The rows are those of Flink 2.3, which has no name for a result beside one of the same name in a sub-query,
-- and no literals beyond BIGINT.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (a INT, b STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

--- input t
1,x,2024-01-01 00:00:02.000
2,yy,2024-01-01 00:00:03.000
3,NULL,2024-01-01 00:00:05.000

--- query a column before `*`
SELECT a, * FROM t;

--- rows
1,1,x,2024-01-01 00:00:02.000
2,2,yy,2024-01-01 00:00:03.000
3,3,NULL,2024-01-01 00:00:05.000

--- query columns behind stars of tables
SELECT t.*, a, u.b FROM t, (VALUES (1, 'c')) AS u(k, b) WHERE k = a;

--- rows
1,x,2024-01-01 00:00:02.000,1,c

--- query an expression that is called as a column of `*`
SELECT *, UPPER(b) AS b FROM t;

--- rows
1,x,2024-01-01 00:00:02.000,X
2,yy,2024-01-01 00:00:03.000,YY
3,NULL,2024-01-01 00:00:05.000,NULL

--- query a column of `*` by the name that it has beside itself (not as Flink)
SELECT a0, b FROM (SELECT *, a FROM t);

--- rows
1,x
2,yy
3,NULL

--- query an expression that is called as a column of `*` in a sub-query (not as Flink)
SELECT b0 FROM (SELECT *, UPPER(b) AS b FROM t);

--- rows
X
YY
NULL

--- query the first rows by time
SELECT a, ts FROM t ORDER BY ts LIMIT 2;

--- rows
1,2024-01-01 00:00:02.000
2,2024-01-01 00:00:03.000

--- query the first rows by a position
SELECT ts, a FROM t ORDER BY 1 LIMIT 1;

--- rows
2024-01-01 00:00:02.000,1

--- query values of whole numbers and decimals
SELECT a / b, a, b FROM (VALUES (1, 3.0), (2.5, 3)) AS v(a, b);

--- rows
0.3333333333333,1.0,3.0
0.8333333333333,2.5,3.0

--- query values of numbers and text
SELECT a FROM (VALUES (1), ('a')) AS v(a);

--- error TYPE_MISMATCH
column 1 of VALUES

--- query a long whole number (not as Flink)
SELECT 9300000000000000000, 9300000000000000000 * 10;

--- rows
9300000000000000000,93000000000000000000

--- query COUNT of distinct rows
SELECT COUNT(DISTINCT *) FROM t;

--- error INVALID
`*` is no argument of COUNT

--- query COUNT of nothing
SELECT COUNT() FROM t;

--- error INVALID
COUNT has no argument

--- query no timestamp
SELECT TIMESTAMP 'x';

--- error INVALID
'x' is no timestamp

--- query a condition among conditions
SELECT a FROM t WHERE ((a IN (1, 2)) IN (TRUE)) BETWEEN TRUE AND TRUE;

--- rows
1
2
