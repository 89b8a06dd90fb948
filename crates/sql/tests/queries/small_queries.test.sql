-- Small forms of queries: QUALIFY, TABLE, grouping sets, WINDOW. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (
  id INT, a INT, b STRING, d DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts
);
CREATE TABLE s (x INT, y STRING);

--- input t
1,1,x,0.5,2024-01-01 00:00:01.000
2,1,y,1.5,2024-01-01 00:00:02.000
3,2,x,NULL,2024-01-01 00:00:03.000
4,NULL,NULL,2.5,2024-01-01 00:00:04.000

--- input s
1,p
2,q

--- query TABLE as a query
TABLE s;

--- rows
1,p
2,q

--- query TABLE within others
SELECT x FROM (TABLE s) UNION ALL SELECT CAST(COUNT(*) AS INT) FROM (TABLE s UNION TABLE s);

--- changelog
+I,1
+I,2
+I,2

--- query TABLE of an unknown table
TABLE nothing;

--- error UNKNOWN_TABLE
nothing

--- query QUALIFY keeps the first ranks
SELECT id, a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY d DESC) AS n FROM t
QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY d DESC) = 1;

--- changelog
+I,1,1,1
+I,2,1,1
+I,4,NULL,1

--- query QUALIFY by the name of a result
SELECT id, ROW_NUMBER() OVER (PARTITION BY b ORDER BY d DESC) AS n FROM t QUALIFY n <= 1 AND id < 4;

--- changelog
+I,1,1
+I,2,1

--- query QUALIFY by a call that is no result
SELECT id, b FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY ts) = 1;

--- rows
1,x
2,y
4,NULL

--- query QUALIFY by an aggregate
SELECT id, b FROM t QUALIFY COUNT(*) OVER (PARTITION BY b ORDER BY ts) > 1;

--- rows
3,x

--- query QUALIFY by a window that is named, after WHERE
SELECT id FROM t WHERE id > 1 WINDOW w AS (PARTITION BY b ORDER BY ts) QUALIFY ROW_NUMBER() OVER w = 1;

--- rows
2
3
4

--- query QUALIFY before DISTINCT
SELECT DISTINCT a FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY ts) = 1;

--- changelog
+I,1
+I,NULL

--- query QUALIFY of groups (not as Flink)
SELECT b, COUNT(*) AS c FROM t GROUP BY b HAVING COUNT(*) > 0 QUALIFY ROW_NUMBER() OVER (ORDER BY c DESC, b DESC) <= 1;

--- changelog
+I,x,2

--- query QUALIFY without OVER
SELECT id, b FROM t QUALIFY id > 1;

--- error INVALID
QUALIFY goes by calls with OVER, and here is none

--- query GROUP BY of nothing is one group
SELECT COUNT(*), MAX(b) FROM t GROUP BY ();

--- changelog
+I,4,y

--- query GROUP BY of nothing without aggregates
SELECT 1 FROM t GROUP BY ();

--- changelog
+I,1

--- query GROUP BY of nothing and a key
SELECT a, COUNT(*) FROM t GROUP BY (), a;

--- changelog
+I,1,2
+I,2,1
+I,NULL,1

--- query GROUP BY ALL and DISTINCT of one list
SELECT a, COUNT(*) FROM t GROUP BY ALL a UNION ALL SELECT a, 10 + COUNT(*) FROM t GROUP BY DISTINCT a;

--- changelog
+I,1,2
+I,2,1
+I,NULL,1
+I,1,12
+I,2,11
+I,NULL,11

--- query GROUP BY DISTINCT has each set once
SELECT a, b, COUNT(*) FROM t GROUP BY DISTINCT ROLLUP (a, b), ROLLUP (a);

--- changelog
+I,1,x,1
+I,1,y,1
+I,2,x,1
+I,NULL,NULL,1
+I,1,NULL,2
+I,2,NULL,1
+I,NULL,NULL,1
+I,NULL,NULL,4

--- query GROUP_ID tells equal sets apart
SELECT a, GROUP_ID(), COUNT(*) FROM t GROUP BY GROUPING SETS ((a), (a), ());

--- changelog
+I,1,0,2
+I,2,0,1
+I,NULL,0,1
+I,1,1,2
+I,2,1,1
+I,NULL,1,1
+I,NULL,0,4

--- query GROUPING SETS within others
SELECT a, b, COUNT(*) FROM t GROUP BY GROUPING SETS ((a), GROUPING SETS ((b), ()));

--- changelog
+I,1,NULL,2
+I,2,NULL,1
+I,NULL,NULL,1
+I,NULL,x,2
+I,NULL,y,1
+I,NULL,NULL,1
+I,NULL,NULL,4

--- query two results of one name are no key
SELECT a AS k, b AS k, COUNT(*) FROM t GROUP BY k;

--- error INVALID
two results are called `k`

--- query a window that no call names is checked
SELECT id FROM t WINDOW w AS (PARTITION BY nope ORDER BY ts);

--- error UNKNOWN_COLUMN
nope

--- query a window by any column that no call names
SELECT id FROM t WINDOW w AS (PARTITION BY b ORDER BY d);

--- rows
1
2
3
4

--- query two windows of one name
SELECT id FROM t WINDOW w AS (PARTITION BY b ORDER BY ts), w AS (ORDER BY ts);

--- error INVALID
two windows are called `w`

--- query QUALIFY does not read the query around
SELECT id FROM (VALUES (1), (2)) AS t (id)
WHERE EXISTS (SELECT 1 FROM (VALUES (1)) AS x (y) QUALIFY ROW_NUMBER() OVER (ORDER BY y) <= t.id);

--- error UNSUPPORTED
QUALIFY that reads columns of the query around
