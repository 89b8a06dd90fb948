-- EXCEPT ALL and INTERSECT ALL. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (id INT, a INT, b STRING);
CREATE TABLE s (x BIGINT, y STRING);

--- input t
1,1,x
2,1,x
3,1,y
4,2,x
5,NULL,x
6,NULL,x

--- input s
1,x
2,x
2,x
NULL,x

--- query a row is left as often as the left side has more of it
SELECT a, b FROM t EXCEPT ALL SELECT x, y FROM s;

--- changelog
+I,1,x
+I,1,y
+I,NULL,x

--- query a row is there as often as both sides have it
SELECT a, b FROM t INTERSECT ALL SELECT x, y FROM s;

--- changelog
+I,1,x
+I,2,x
+I,NULL,x

--- query a side without rows
SELECT a FROM t WHERE id < 4 EXCEPT ALL SELECT CAST(x AS INT) FROM s WHERE x > 5;

--- changelog
+I,1
+I,1
+I,1

--- query INTERSECT ALL binds before EXCEPT
SELECT a FROM t EXCEPT SELECT a FROM t INTERSECT ALL SELECT 1;

--- changelog
+I,2
+I,NULL

--- query sides whose rows change
SELECT COUNT(*) FROM t GROUP BY b EXCEPT ALL SELECT COUNT(*) FROM s GROUP BY y;

--- changelog
+I,5
+I,1

--- query an aggregate of the rows that are left
SELECT b, COUNT(*), SUM(a) FROM (SELECT a, b FROM t EXCEPT ALL SELECT x, y FROM s) GROUP BY b;

--- changelog
+I,x,2,1
+I,y,1,1

--- query different numbers of columns
SELECT a, b FROM t EXCEPT ALL SELECT x FROM s;

--- error INVALID
the queries of EXCEPT ALL have different numbers of columns

--- query types without a common one
SELECT b FROM t INTERSECT ALL SELECT x FROM s;

--- error TYPE_MISMATCH
column 1 of INTERSECT ALL is STRING and BIGINT
