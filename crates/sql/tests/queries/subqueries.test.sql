-- Sub-queries as values: scalar ones, IN and EXISTS as results, under OR and in CASE; and what they read of the query around.
-- Source: SQL:2016, 8.4 (in predicate), 8.10 (exists predicate); Flink's `SubQueryITCase` and `SingleValueITCase` forms.
SET 'table.exec.state.ttl' = '1 h';
CREATE TABLE t (k STRING, v INT, s STRING);
CREATE TABLE u (k STRING, w INT);
CREATE TABLE empty_u (k STRING, w INT NOT NULL);

--- input t
a,1,x
b,2,y
a,3,NULL
c,NULL,z

--- input u
a,10
a,20
b,NULL

--- input empty_u

--- query one value for all rows
SELECT k, v, (SELECT MAX(w) FROM u) FROM t;

--- changelog
+I,a,1,20
+I,b,2,20
+I,a,3,20
+I,c,NULL,20

--- query a value for each key
SELECT k, v, (SELECT COUNT(*) FROM u WHERE u.k = t.k), (SELECT SUM(w) + 1 FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,1,2,31
+I,b,2,1,NULL
+I,a,3,2,31
+I,c,NULL,0,NULL

--- query a value of no rows
SELECT k, (SELECT COUNT(*) + 5 FROM empty_u WHERE empty_u.k = t.k), (SELECT MAX(w) FROM empty_u WHERE empty_u.k = t.k) FROM t;

--- changelog
+I,a,5,NULL
+I,b,5,NULL
+I,a,5,NULL
+I,c,5,NULL

--- query the only row
SELECT k, (SELECT w FROM u WHERE w = 10) FROM t WHERE k <> 'a';

--- changelog
+I,b,10
+I,c,10

--- query the only row of each key
SELECT k, (SELECT w FROM u WHERE u.k = t.k AND w > 10) FROM t;

--- changelog
+I,a,20
+I,b,NULL
+I,a,20
+I,c,NULL

--- query a value in a condition
SELECT k, v FROM t WHERE v > (SELECT AVG(v) FROM t) OR k = 'c';

--- changelog
+I,a,3
+I,c,NULL

--- query EXISTS as a result
SELECT k, EXISTS (SELECT 1 FROM u WHERE u.k = t.k), NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND w = 20) FROM t;

--- changelog
+I,a,TRUE,FALSE
+I,b,TRUE,TRUE
+I,a,TRUE,FALSE
+I,c,FALSE,TRUE

--- query EXISTS of any row as a result
SELECT k, EXISTS (SELECT 1 FROM u), EXISTS (SELECT 1 FROM empty_u) FROM t WHERE k = 'b';

--- changelog
+I,b,TRUE,FALSE

--- query IN as a result
SELECT v, v IN (SELECT w / 10 FROM u WHERE w IS NOT NULL), v IN (SELECT w / 10 FROM u), k IN (SELECT k FROM u) FROM t;

--- changelog
+I,1,TRUE,TRUE,TRUE
+I,2,TRUE,TRUE,TRUE
+I,3,FALSE,NULL,TRUE
+I,NULL,NULL,NULL,FALSE

--- query NOT IN as a result
SELECT v, v NOT IN (SELECT w / 10 FROM u WHERE w IS NOT NULL), v NOT IN (SELECT w / 10 FROM u) FROM t;

--- changelog
+I,1,FALSE,FALSE
+I,2,FALSE,FALSE
+I,3,TRUE,NULL
+I,NULL,NULL,NULL

--- query NOT IN no rows, of which Flink knows nothing until one comes (not as Flink)
SELECT v, v NOT IN (SELECT w FROM empty_u), v IN (SELECT w FROM empty_u WHERE empty_u.k = t.k) FROM t;

--- changelog
+I,1,TRUE,FALSE
+I,2,TRUE,FALSE
+I,3,TRUE,FALSE
+I,NULL,TRUE,FALSE

--- query EXISTS under OR
SELECT k, v FROM t WHERE k = 'c' OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND w = 10);

--- changelog
+I,a,1
+I,a,3
+I,c,NULL

--- query IN under OR
SELECT k, v FROM t WHERE v IN (SELECT w / 10 FROM u) OR s = 'z';

--- changelog
+I,a,1
+I,b,2
+I,c,NULL

--- query IN under OR that reads the query around
SELECT k, v FROM t WHERE v * 10 IN (SELECT w FROM u WHERE u.k = t.k) OR s = 'z';

--- changelog
+I,a,1
+I,c,NULL

--- query in CASE
SELECT k, CASE WHEN k IN (SELECT k FROM u WHERE w = 20) THEN 'has 20' WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k) THEN 'other' ELSE 'none' END
FROM t;

--- changelog
+I,a,has 20
+I,b,other
+I,a,has 20
+I,c,none

--- query a value in HAVING
SELECT k, SUM(v) FROM t GROUP BY k HAVING SUM(v) >= (SELECT AVG(v) FROM t);

--- changelog
+I,a,4
+I,b,2

--- query IN in HAVING
SELECT k, SUM(v) FROM t GROUP BY k HAVING k IN (SELECT k FROM u) AND SUM(v) > 2;

--- changelog
+I,a,4

--- query a value beside groups
SELECT k, COUNT(*), (SELECT MAX(w) FROM u WHERE u.k = t.k) FROM t GROUP BY k;

--- changelog
+I,a,2,20
+I,b,1,NULL
+I,c,1,NULL

--- query a sub-query within a sub-query
SELECT k FROM t WHERE v = (SELECT MAX(v) FROM t WHERE k IN (SELECT k FROM u));

--- changelog
+I,a

--- query values of two columns that are compared with those of a sub-query
SELECT k, v FROM t WHERE (k, v * 10) IN (SELECT k, w FROM u);

--- changelog
+I,a,1

--- query a condition that reads the query around, below GROUP BY
SELECT k, v FROM t WHERE v * 10 IN (SELECT MIN(w) FROM u WHERE u.k = t.k GROUP BY u.k);

--- changelog
+I,a,1

--- query a sub-query with two results
SELECT (SELECT k, w FROM u) FROM t;

--- error INVALID
one column

--- query a sub-query of two rows
SELECT k, (SELECT w FROM u WHERE k = 'a') FROM t;

--- error NOT_ONE_ROW
2 rows where one value is needed

--- query a comparison other than equality with the query around
SELECT k, (SELECT MAX(w) FROM u WHERE u.w > t.v) FROM t;

--- changelog
+I,a,20
+I,b,20
+I,a,20
+I,c,NULL

--- query an aggregate of a sub-query
SELECT SUM((SELECT MAX(w) FROM u)) FROM t;

--- changelog
+I,80

--- query distinct values of each key
SELECT k, (SELECT DISTINCT u.k FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,a
+I,b,b
+I,a,a
+I,c,NULL

--- query a value without a table
SELECT (SELECT MAX(w) FROM u), EXISTS (SELECT 1 FROM empty_u);

--- changelog
+I,20,FALSE
