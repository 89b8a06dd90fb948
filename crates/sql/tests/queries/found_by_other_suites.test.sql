-- Queries in which the test suites of other engines found something. Answers by hand, as Flink 2.3 gives them.
CREATE TABLE L (a INT, x STRING);
CREATE TABLE R (a INT, y STRING);
CREATE TABLE N (a INT);
CREATE TABLE C1 (a INT, b INT, c INT);
CREATE TABLE C2 (b INT, c INT, d INT, e INT);
CREATE TABLE C3 (d INT, e INT, f INT);
CREATE TABLE P (t TIMESTAMP(3), z TIMESTAMP_LTZ(3));

--- set 'table.exec.state.ttl' = '1 d'

--- input L
1,x
1,x
2,y
NULL,z
7,NULL

--- input R
1,x
2,w
NULL,z

--- input C1
1,2,2

--- input C2
2,2,3,4

--- input C3
3,4,5

--- input P
2024-01-01 00:00:00.000,2024-01-01 00:00:00.000Z
2024-01-01 00:00:01.000,2024-01-01 00:00:00.000Z
NULL,2024-01-01 00:00:00.000Z

--- query duplicates count for EXCEPT ALL
SELECT a FROM L EXCEPT ALL SELECT a FROM R;

--- changelog
+I,1
+I,7

--- query duplicates count for INTERSECT ALL
SELECT a FROM L INTERSECT ALL SELECT a FROM R;

--- changelog
+I,1
+I,2
+I,NULL

--- query common columns come first
SELECT * FROM L JOIN R USING (a);

--- changelog
+I,1,x,x
+I,1,x,x
+I,2,y,w

--- query common columns of a column that is not the first
SELECT * FROM (SELECT x, a FROM L) AS l JOIN (SELECT y, a FROM R) AS r USING (a);

--- changelog
+I,1,x,x
+I,1,x,x
+I,2,y,w

--- query common columns of several joins
SELECT * FROM C1 JOIN C2 USING (b, c) JOIN C3 USING (d, e);

--- changelog
+I,3,4,2,2,1,5

--- query common columns beside others
SELECT e AS x, *, a AS b0 FROM C1 LEFT JOIN C2 USING (b, c);

--- changelog
+I,4,2,2,1,3,4,1

--- query columns of a NATURAL JOIN
SELECT * FROM C1 NATURAL JOIN C2;

--- changelog
+I,2,2,1,3,4

--- query columns of a NATURAL JOIN with a query of WITH, as seen by a query around it
WITH V (d, g) AS (SELECT d, f FROM C3) SELECT * FROM (SELECT * FROM C2 NATURAL JOIN V) AS s JOIN C1 USING (c);

--- changelog
+I,2,3,2,4,5,1,2

--- query columns of joins in brackets
SELECT * FROM C1 AS x JOIN (C2 JOIN C3 USING (e)) ON x.a = C3.f - 4;

--- changelog
+I,1,2,2,4,2,2,3,3,5

--- query columns that are computed
SELECT * FROM C1 JOIN (SELECT COUNT(*) OVER (ORDER BY PROCTIME()), 2 AS b FROM C2) AS s USING (b);

--- changelog
+I,2,1,2,1

--- query names of columns of a NATURAL JOIN
SELECT a, b, c, d FROM C1 NATURAL JOIN C2;

--- changelog
+I,1,2,2,3

--- query an aggregate that is always there
SELECT * FROM L WHERE EXISTS (SELECT COUNT(*) FROM R WHERE R.a = L.a);

--- changelog
+I,1,x
+I,1,x
+I,2,y
+I,7,NULL
+I,NULL,z

--- query an aggregate that is always there, of nothing
SELECT * FROM L WHERE NOT EXISTS (SELECT MAX(a) + 1 FROM N);

--- rows

--- query an aggregate that is there for some
SELECT x FROM L WHERE EXISTS (SELECT COUNT(*) FROM R WHERE R.a = L.a GROUP BY R.y);

--- changelog
+I,x
+I,x
+I,y

--- query a count among outer values
SELECT x FROM L WHERE 0 IN (SELECT COUNT(*) FROM R WHERE R.a = L.a);

--- changelog
+I,z
+I,NULL

--- query rows that EXISTS leaves out
SELECT x FROM L WHERE EXISTS (SELECT 1 FROM R WHERE R.a = L.a LIMIT 1 OFFSET 1);

--- rows

--- query the first row of EXISTS
SELECT x FROM L WHERE EXISTS (SELECT 1 FROM R WHERE R.a = L.a LIMIT 1);

--- changelog
+I,x
+I,x
+I,y

--- query arrays of texts of other lengths
SELECT ARRAY['a', 'bcd'], ARRAY_REVERSE(ARRAY['a', 'bc']), MAP_KEYS(MAP['a', 1]), COALESCE(ARRAY['a'], ARRAY['bcd']), ARRAY[ARRAY['a'], ARRAY['bb']]
FROM R WHERE a = 1;

--- rows
"[a, bcd]","[bc, a]",[a],[a],"[[a], [bb]]"

--- query arrays of times
SELECT ARRAY[TIME '10:00:00'], ARRAY_SORT(ARRAY[TIMESTAMP '2024-01-02 00:00:00', TIMESTAMP '2024-01-01 00:00:00.5']), MAP_VALUES(MAP[1, 'a'])
FROM R WHERE a = 1;

--- rows
[10:00:00],"[2024-01-01 00:00:00.5, 2024-01-02 00:00:00.0]",[a]

--- query arrays that follow each other
SELECT ARRAY['a'] AS v FROM R WHERE a = 1 UNION ALL SELECT ARRAY['bcd'] FROM R WHERE a = 2;

--- rows
[a]
[bcd]

--- query groups of arrays
SELECT ARRAY['a', x], COUNT(*) FROM L WHERE a < 3 GROUP BY ARRAY['a', x];

--- changelog
+I,"[a, x]",1
-U,"[a, x]",1
+U,"[a, x]",2
+I,"[a, y]",1

--- query times with and without a zone
SELECT t = z, z < t, t BETWEEN z AND z, t IN (TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-01 00:00:05') FROM P;

--- rows
TRUE,FALSE,TRUE,TRUE
FALSE,TRUE,FALSE,FALSE
NULL,NULL,NULL,NULL

--- query a join of times with and without a zone
SELECT a.t, b.z FROM P AS a JOIN P AS b ON a.t = b.z WHERE b.t IS NULL;

--- changelog
+I,2024-01-01 00:00:00.000,2024-01-01 00:00:00.000

--- query two sub-queries without names
SELECT * FROM (SELECT a + 0 AS k FROM C1), (SELECT b + 0 AS k FROM C1);

--- changelog
+I,1,2

--- query columns of a sub-query without a name
SELECT k, k + 1 FROM (SELECT a + 0 AS k FROM C1) WHERE k = 1;

--- rows
1,2

--- set 'table.local-time-zone' = 'Asia/Tokyo'

--- query times without a zone are those of the session
SELECT t = z, t < z FROM P WHERE t IS NOT NULL;

--- rows
FALSE,TRUE
FALSE,TRUE

--- query names that a sub-query has twice
SELECT * FROM (SELECT * FROM L AS p JOIN L AS q USING (a)) AS s JOIN R USING (a);

--- changelog
+I,1,x,x,x
+I,1,x,x,x
+I,1,x,x,x
+I,1,x,x,x
+I,2,y,y,w

--- query names that a join has twice
WITH q AS (SELECT * FROM L AS p JOIN R AS q ON p.a = q.a) SELECT * FROM q JOIN N USING (a);

--- rows

--- query all of one table of a join by USING
SELECT * FROM (SELECT C2.* FROM C1 JOIN C2 USING (b, c)) AS s JOIN C3 USING (d);

--- changelog
+I,3,2,2,4,4,5

--- query a column that three tables have
SELECT * FROM C1 JOIN C2 USING (b) JOIN (SELECT f AS g, 2 AS b FROM C3) AS s USING (b);

--- changelog
+I,2,1,2,2,3,4,5

--- query a common column that another table has, too
SELECT * FROM C1 JOIN C2 USING (b), N;

--- changelog

--- query common columns behind a comma
SELECT * FROM C3, C1 JOIN C2 USING (c);

--- changelog
+I,2,3,4,5,1,2,2,3,4

--- query sub-queries without names, joined by a column
SELECT * FROM (SELECT c, a AS x FROM C1) JOIN (SELECT d AS x2, c FROM C2) USING (c);

--- changelog
+I,2,1,3

--- query a name of WITH that hides a table
WITH C1 AS (SELECT *, 5 AS n FROM C1 JOIN C2 USING (b)) SELECT * FROM C1 JOIN (SELECT 2 AS b) AS s USING (b);

--- changelog
+I,2,1,2,2,3,4,5

--- query WITH in a sub-query
SELECT * FROM (WITH C1 AS (SELECT d, e AS h FROM C2) SELECT * FROM C1) AS q JOIN C3 USING (d);

--- changelog
+I,3,4,4,5

--- query a result without a name
SELECT * FROM (SELECT d, e + 1 FROM C2) AS p JOIN C3 USING (d);

--- changelog
+I,3,5,4,5

--- query common columns of values
SELECT * FROM C3 JOIN (VALUES (4, 'v')) AS q (e, v) USING (e);

--- changelog
+I,4,3,5,v

--- query a text is no name of a table
SELECT * FROM C1 AS 'x';

--- error SYNTAX
'x' is text and no name

--- query a HAVING in EXISTS
SELECT x FROM L WHERE EXISTS (SELECT COUNT(*) FROM R WHERE R.a = L.a HAVING COUNT(*) = 0);

--- changelog
+I,z
+I,NULL
