-- Sub-queries that read the query around in other ways than by `inner = outer`: other comparisons, arguments and results, two
-- levels out; in ON, in aggregates, in GROUP BY and VALUES; SOME, ANY and ALL; lists of values as values; LATERAL.
-- Sources: SQL:2016, 7.6 (lateral derived table), 8.4 and 8.9; Flink 2.3 was asked. Where Flink answers for a NULL of the query
-- around, for no rows, or two levels out, otherwise than the standard says, the names say so.
SET 'table.exec.state.ttl' = '1 h';
CREATE TABLE t (k STRING, v INT, s STRING);
CREATE TABLE u (k STRING, w INT);
CREATE TABLE n (a INT NOT NULL, b INT);

--- input t
a,1,x
b,2,y
a,3,NULL
c,NULL,z

--- input u
a,10
a,20
b,NULL

--- input n
1,1
2,NULL

--- query a greatest value by another comparison
SELECT k, (SELECT MAX(w) FROM u WHERE u.w > t.v) FROM t;

--- changelog
+I,a,20
+I,a,20
+I,b,20
+I,c,NULL

--- query a count by another comparison
SELECT k, (SELECT COUNT(*) FROM u WHERE u.w > t.v * 10) FROM t;

--- changelog
+I,a,0
+I,a,1
+I,b,0
+I,c,0

--- query EXISTS by another comparison as a result
SELECT k, EXISTS (SELECT 1 FROM u WHERE u.w > t.v * 10) FROM t;

--- changelog
+I,a,FALSE
+I,a,TRUE
+I,b,FALSE
+I,c,FALSE

--- query IN by another comparison as a result, of no rows where the query around is NULL (not as Flink)
SELECT k, v IN (SELECT w / 10 FROM u WHERE u.w > t.v) FROM t;

--- changelog
+I,a,FALSE
+I,a,TRUE
+I,b,TRUE
+I,c,FALSE

--- query the only row by another comparison
SELECT k, (SELECT w FROM u WHERE u.w > t.v * 10 + 9 AND w IS NOT NULL) FROM t;

--- changelog
+I,a,20
+I,a,NULL
+I,b,NULL
+I,c,NULL

--- query a value by another comparison in a condition
SELECT k FROM t WHERE v < (SELECT MAX(w) FROM u WHERE u.k <> t.k);

--- changelog
+I,b

--- query a condition on the query around alone
SELECT k, (SELECT MAX(w) FROM u WHERE t.k = 'a') FROM t;

--- changelog
+I,a,20
+I,a,20
+I,b,NULL
+I,c,NULL

--- query an argument of an aggregate
SELECT k, (SELECT MAX(w + t.v) FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,21
+I,a,23
+I,b,NULL
+I,c,NULL

--- query a result of the query around
SELECT k, (SELECT t.v FROM u WHERE u.w = 10) FROM t;

--- changelog
+I,a,1
+I,a,3
+I,b,2
+I,c,NULL

--- query a result beside an aggregate (not as Flink)
SELECT k, (SELECT MAX(w) + t.v FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,21
+I,a,23
+I,b,NULL
+I,c,NULL

--- query a result beside a count, also of no rows (not as Flink)
SELECT k, (SELECT COUNT(*) + t.v FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,3
+I,a,5
+I,b,3
+I,c,NULL

--- query HAVING reads the query around (not as Flink)
SELECT k, (SELECT MAX(w) FROM u WHERE u.k = t.k HAVING COUNT(*) >= t.v) FROM t;

--- changelog
+I,a,20
+I,a,NULL
+I,b,NULL
+I,c,NULL

--- query HAVING of no rows (not as Flink)
SELECT k, (SELECT COUNT(*) FROM u WHERE u.k = t.k HAVING COUNT(*) = 0) FROM t;

--- changelog
+I,a,NULL
+I,a,NULL
+I,b,NULL
+I,c,0

--- query EXISTS whose HAVING reads the query around (not as Flink)
SELECT k FROM t WHERE EXISTS (SELECT u.k FROM u GROUP BY u.k HAVING COUNT(*) >= t.v);

--- changelog
+I,a
+I,b

--- query EXISTS of no rows that HAVING keeps (not as Flink)
SELECT k FROM t WHERE EXISTS (SELECT COUNT(*) FROM u WHERE u.k = t.k HAVING COUNT(*) = 0);

--- changelog
+I,c

--- query EXISTS of an aggregate without GROUP BY
SELECT k FROM t WHERE EXISTS (SELECT COUNT(*) FROM u WHERE u.k = t.k);

--- changelog
+I,a
+I,a
+I,b
+I,c

--- query EXISTS of an aggregate of all rows
SELECT k FROM t WHERE EXISTS (SELECT COUNT(*) FROM u);

--- changelog
+I,a
+I,a
+I,b
+I,c

--- query NOT EXISTS of an aggregate
SELECT k FROM t WHERE NOT EXISTS (SELECT COUNT(*) FROM u);

--- changelog

--- query EXISTS of an aggregate as a result
SELECT k, EXISTS (SELECT COUNT(*) FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,TRUE
+I,a,TRUE
+I,b,TRUE
+I,c,TRUE

--- query IN of an aggregate without GROUP BY
SELECT k FROM t WHERE 2 IN (SELECT COUNT(*) FROM u WHERE u.k = t.k);

--- changelog
+I,a
+I,a

--- query IN of an aggregate of no rows (not as Flink)
SELECT k FROM t WHERE 0 IN (SELECT COUNT(*) FROM u WHERE u.k = t.k);

--- changelog
+I,c

--- query EXISTS of groups by another comparison
SELECT k FROM t WHERE EXISTS (SELECT u.k, COUNT(*) FROM u WHERE u.w > t.v GROUP BY u.k);

--- changelog
+I,a
+I,a
+I,b

--- query distinct values by another comparison
SELECT k, (SELECT COUNT(DISTINCT w) FROM u WHERE u.w > t.v) FROM t;

--- changelog
+I,a,2
+I,a,2
+I,b,2
+I,c,0

--- query a value beside groups by another comparison
SELECT k, COUNT(*), (SELECT MAX(w) FROM u WHERE u.k > t.k) FROM t GROUP BY k;

--- changelog
+I,a,2,NULL
+I,b,1,NULL
+I,c,1,NULL

--- query a correlated value in HAVING
SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) < (SELECT COUNT(*) FROM u WHERE u.k >= t.k);

--- changelog
+I,a,2

--- query a value of the table itself
SELECT k FROM t AS o WHERE v = (SELECT MAX(v) FROM t WHERE t.k = o.k);

--- changelog
+I,a
+I,b

--- query an average of the table itself
SELECT k FROM t AS o WHERE v >= (SELECT AVG(v) FROM t WHERE t.k = o.k);

--- changelog
+I,a
+I,b

--- query a value in ORDER BY
SELECT k FROM t ORDER BY (SELECT MAX(w) FROM u WHERE u.k = t.k), v LIMIT 2;

--- changelog
+I,b
+I,c

--- query LATERAL in a list
SELECT k, v, x.w FROM t, LATERAL (SELECT w FROM u WHERE u.k = t.k) AS x;

--- changelog
+I,a,1,10
+I,a,1,20
+I,a,3,10
+I,a,3,20
+I,b,2,NULL

--- query CROSS JOIN LATERAL
SELECT k, v, x.w FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k) AS x;

--- changelog
+I,a,1,10
+I,a,1,20
+I,a,3,10
+I,a,3,20
+I,b,2,NULL

--- query LATERAL by another comparison
SELECT k, v, x.w FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.w > t.v * 10) AS x;

--- changelog
+I,a,1,20

--- query LEFT JOIN LATERAL
SELECT k, v, x.w FROM t LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k) AS x ON TRUE;

--- changelog
+I,a,1,10
+I,a,1,20
+I,a,3,10
+I,a,3,20
+I,b,2,NULL
+I,c,NULL,NULL

--- query LEFT JOIN LATERAL with a condition
SELECT k, v, x.w FROM t LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k) AS x ON x.w > 10;

--- changelog
+I,a,1,20
+I,a,3,20
+I,b,2,NULL
+I,c,NULL,NULL

--- query LATERAL of groups
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT w, COUNT(*) AS c FROM u WHERE u.k = t.k GROUP BY w) AS x;

--- changelog
+I,a,1,1
+I,a,1,1
+I,a,3,1
+I,a,3,1
+I,b,2,1

--- query LATERAL of distinct rows
SELECT k, v, x.w FROM t CROSS JOIN LATERAL (SELECT DISTINCT w FROM u WHERE u.k = t.k) AS x;

--- changelog
+I,a,1,10
+I,a,1,20
+I,a,3,10
+I,a,3,20
+I,b,2,NULL

--- query LATERAL with a result of the row before it, also where that is NULL (not as Flink)
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT t.v + u.w AS c FROM u) AS x;

--- changelog
+I,a,1,11
+I,a,1,21
+I,a,1,NULL
+I,a,3,13
+I,a,3,23
+I,a,3,NULL
+I,b,2,12
+I,b,2,22
+I,b,2,NULL
+I,c,NULL,NULL
+I,c,NULL,NULL
+I,c,NULL,NULL

--- query LATERAL of a count, also of no rows (not as Flink)
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT COUNT(*) AS c FROM u WHERE u.k = t.k) AS x;

--- changelog
+I,a,1,2
+I,a,3,2
+I,b,2,1
+I,c,NULL,0

--- query LATERAL of a count by another comparison (not as Flink)
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT COUNT(*) AS c FROM u WHERE u.w > t.v * 10) AS x;

--- changelog
+I,a,1,1
+I,a,3,0
+I,b,2,0
+I,c,NULL,0

--- query LEFT JOIN LATERAL of a count
SELECT k, v, x.c FROM t LEFT JOIN LATERAL (SELECT COUNT(*) AS c FROM u WHERE u.k = t.k) AS x ON TRUE;

--- changelog
+I,a,1,2
+I,a,3,2
+I,b,2,1
+I,c,NULL,0

--- query LATERAL of the first row (not as Flink)
SELECT k, v, x.w FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k = t.k ORDER BY w DESC LIMIT 1) AS x;

--- changelog
+I,a,1,20
+I,a,3,20
+I,b,2,NULL

--- query LATERAL of the first row of distinct rows (not as Flink)
SELECT x.k, y.w FROM (SELECT DISTINCT k FROM t) AS x, LATERAL (SELECT w FROM u WHERE u.k = x.k ORDER BY w DESC LIMIT 1) AS y;

--- changelog
+I,a,20
+I,b,NULL

--- query LATERAL of the first two rows (not as Flink)
SELECT x.k, y.w FROM (SELECT DISTINCT k FROM t) AS x CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k = x.k ORDER BY w DESC LIMIT 2) AS y;

--- changelog
+I,a,20
+I,a,10
+I,b,NULL

--- query LEFT JOIN LATERAL of the first row (not as Flink)
SELECT x.k, y.w FROM (SELECT DISTINCT k FROM t) AS x LEFT JOIN LATERAL (SELECT w FROM u WHERE u.k = x.k ORDER BY w DESC LIMIT 1) AS y ON TRUE;

--- changelog
+I,a,20
+I,b,NULL
+I,c,NULL

--- query LATERAL of the second row (not as Flink)
SELECT x.k, y.w FROM (SELECT DISTINCT k FROM t) AS x CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k = x.k ORDER BY w DESC LIMIT 1 OFFSET 1) AS y;

--- changelog
+I,a,10

--- query LATERAL of the first row by another comparison (not as Flink)
SELECT x.k, y.w FROM (SELECT DISTINCT k FROM t) AS x CROSS JOIN LATERAL (SELECT w FROM u WHERE u.k > x.k ORDER BY w DESC LIMIT 1) AS y;

--- changelog
+I,a,NULL

--- query LATERAL without a table (not as Flink)
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT t.v + 1 AS c) AS x;

--- changelog
+I,a,1,2
+I,a,3,4
+I,b,2,3
+I,c,NULL,NULL

--- query LATERAL of VALUES
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (VALUES (t.v), (t.v + 1)) AS x (c);

--- error UNKNOWN_TABLE
no table is called `t` here

--- query LATERAL of a union
SELECT k, v, x.c FROM t CROSS JOIN LATERAL (SELECT v AS c UNION ALL SELECT w FROM u WHERE u.k = t.k) AS x;

--- error UNSUPPORTED
belongs to an outer query

--- query a sub-query of FROM without LATERAL
SELECT k, v, x.w FROM t, (SELECT w FROM u WHERE u.k = t.k) AS x;

--- error UNKNOWN_TABLE
no table is called `t` here

--- query the first row of each key as a value (not as Flink)
SELECT k, v, (SELECT w FROM u WHERE u.k = t.k ORDER BY w DESC LIMIT 1) FROM t;

--- changelog
+I,a,1,20
+I,b,2,NULL
+I,a,3,20
+I,c,NULL,NULL

--- query IN of the first row of each key (not as Flink)
SELECT k FROM t WHERE v IN (SELECT w / 10 FROM u WHERE u.k = t.k ORDER BY w LIMIT 1);

--- changelog
+I,a

--- query EXISTS of a second row
SELECT k, v FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k LIMIT 1 OFFSET 1);

--- changelog
+I,a,1
+I,a,3

--- query EXISTS behind an OFFSET of all rows
SELECT k, v FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1 OFFSET 5);

--- changelog

--- query two levels out (not as Flink)
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v));

--- changelog
+I,a
+I,b

--- query two levels out and one
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v AND n.a * 10 = u.w));

--- changelog
+I,a

--- query two levels out in a value (not as Flink)
SELECT k, (SELECT MAX(w) FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v)) FROM t;

--- changelog
+I,a,20
+I,a,NULL
+I,b,NULL
+I,c,NULL

--- query a value two levels out in a value (not as Flink)
SELECT k, (SELECT MAX(w) FROM u WHERE u.k = t.k AND w > (SELECT MIN(a) FROM n WHERE n.a >= t.v)) FROM t;

--- changelog
+I,a,20
+I,a,NULL
+I,b,NULL
+I,c,NULL

--- query a sub-query of FROM that reads the query around
SELECT k, (SELECT MAX(w) FROM (SELECT w FROM u WHERE u.k = t.k) AS x) FROM t;

--- changelog
+I,a,20
+I,a,20
+I,b,NULL
+I,c,NULL

--- query a sub-query of FROM in EXISTS that reads the query around
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k, w FROM u WHERE u.k = t.k) AS x WHERE x.w > 10);

--- changelog
+I,a
+I,a

--- query UNION within EXISTS
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k UNION ALL SELECT 1 FROM n WHERE n.a = t.v);

--- error UNSUPPORTED
belongs to an outer query

--- query ON reads the query around
SELECT k FROM t WHERE k IN (SELECT u.k FROM u JOIN n ON u.w = n.a * 10 AND n.a = t.v);

--- error UNSUPPORTED
belongs to an outer query

--- query a value in ON
SELECT t.k, w FROM t JOIN u ON t.k = u.k AND w = (SELECT MAX(w) FROM u);

--- changelog
+I,a,20
+I,a,20

--- query a value in ON of an outer join
SELECT t.k, w FROM t LEFT JOIN u ON t.k = u.k AND w = (SELECT MAX(w) FROM u);

--- changelog
+I,a,20
+I,a,20
+I,b,NULL
+I,c,NULL

--- query IN in ON (not as Flink)
SELECT t.k, w FROM t JOIN u ON t.k = u.k AND w IN (SELECT v * 10 FROM t);

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20

--- query IN in ON of an outer join (not as Flink)
SELECT t.k, w FROM t LEFT JOIN u ON t.k = u.k AND w IN (SELECT v * 10 FROM t);

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL
+I,c,NULL

--- query EXISTS in ON (not as Flink)
SELECT t.k, w FROM t JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v);

--- changelog
+I,a,10
+I,a,20
+I,b,NULL

--- query EXISTS in ON of an outer join (not as Flink)
SELECT t.k, w FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v);

--- changelog
+I,a,10
+I,a,20
+I,b,NULL
+I,a,NULL
+I,c,NULL

--- query a sub-query in ON of an outer join that reads both sides
SELECT t.k, w FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM n WHERE n.a = t.v AND n.b = u.w);

--- error UNSUPPORTED
a sub-query in ON of an outer join that reads both sides

--- query an aggregate of a value
SELECT SUM((SELECT MAX(w) FROM u)) FROM t;

--- changelog
+I,80

--- query an aggregate of a value of each key
SELECT k, SUM((SELECT MAX(w) FROM u WHERE u.k = t.k)) FROM t GROUP BY k;

--- changelog
+I,a,40
+I,b,NULL
+I,c,NULL

--- query IN within FILTER
SELECT k, COUNT(*) FILTER (WHERE v IN (SELECT a FROM n)) FROM t GROUP BY k;

--- changelog
+I,a,1
+I,b,1
+I,c,0

--- query a value as a key
SELECT COUNT(*) FROM t GROUP BY (SELECT MAX(w) FROM u);

--- changelog
+I,4

--- query a value as a key and a result
SELECT (SELECT MAX(w) FROM u) AS m, COUNT(*) FROM t GROUP BY (SELECT MAX(w) FROM u);

--- changelog
+I,20,4

--- query IN as a key and a result
SELECT k IN (SELECT k FROM u) AS m, COUNT(*) FROM t GROUP BY k IN (SELECT k FROM u);

--- changelog
+I,FALSE,1
+I,TRUE,3

--- query a value in VALUES
SELECT * FROM (VALUES ((SELECT MAX(w) FROM u), 1)) AS x (a, b);

--- changelog
+I,20,1

--- query greater than some
SELECT k FROM t WHERE v > SOME (SELECT a FROM n);

--- changelog
+I,a
+I,b

--- query greater than any
SELECT k FROM t WHERE v > ANY (SELECT a FROM n);

--- changelog
+I,a
+I,b

--- query equal to any
SELECT k FROM t WHERE v = ANY (SELECT a FROM n);

--- changelog
+I,a
+I,b

--- query equal to some
SELECT k FROM t WHERE v = SOME (SELECT a FROM n);

--- changelog
+I,a
+I,b

--- query at least all
SELECT k FROM t WHERE v >= ALL (SELECT a FROM n);

--- changelog
+I,a
+I,b

--- query different from all
SELECT k FROM t WHERE v <> ALL (SELECT a FROM n);

--- changelog
+I,a

--- query different from some
SELECT k FROM t WHERE v <> SOME (SELECT a FROM n);

--- changelog
+I,a
+I,a
+I,b

--- query equal to all
SELECT k FROM t WHERE v = ALL (SELECT a FROM n);

--- changelog

--- query some and all as results
SELECT k, v, v > SOME (SELECT a FROM n), v > SOME (SELECT b FROM n), v > ALL (SELECT a FROM n), v > ALL (SELECT b FROM n) FROM t;

--- changelog
+I,a,1,FALSE,NULL,FALSE,FALSE
+I,a,3,TRUE,TRUE,TRUE,NULL
+I,b,2,TRUE,TRUE,FALSE,NULL
+I,c,NULL,NULL,NULL,NULL,NULL

--- query less than some, and equal to all (not as Flink)
SELECT k, v, v < SOME (SELECT b FROM n), v <= ALL (SELECT a FROM n), v <> SOME (SELECT a FROM n), v = ALL (SELECT a FROM n) FROM t;

--- changelog
+I,a,1,NULL,TRUE,TRUE,FALSE
+I,a,3,NULL,FALSE,TRUE,FALSE
+I,b,2,NULL,FALSE,TRUE,FALSE
+I,c,NULL,NULL,NULL,NULL,NULL

--- query equal to some and different from all as results
SELECT k, v, v = SOME (SELECT b FROM n), v <> ALL (SELECT b FROM n) FROM t;

--- changelog
+I,a,1,TRUE,FALSE
+I,a,3,NULL,NULL
+I,b,2,NULL,NULL
+I,c,NULL,NULL,NULL

--- query some of each key as a result
SELECT k, v > SOME (SELECT w / 10 FROM u WHERE u.k = t.k) FROM t;

--- changelog
+I,a,FALSE
+I,a,TRUE
+I,b,NULL
+I,c,FALSE

--- query some of each key
SELECT k FROM t WHERE v > SOME (SELECT w / 10 FROM u WHERE u.k = t.k);

--- changelog
+I,a

--- query a list of values as a result (not as Flink)
SELECT k, v, (k, v * 10) IN (SELECT k, w FROM u) FROM t;

--- changelog
+I,a,1,TRUE
+I,b,2,NULL
+I,a,3,FALSE
+I,c,NULL,FALSE

--- query a list of values that is not among rows (not as Flink)
SELECT k, v, (k, v * 10) NOT IN (SELECT k, w FROM u) FROM t;

--- changelog
+I,a,1,FALSE
+I,b,2,NULL
+I,a,3,TRUE
+I,c,NULL,TRUE

--- query a list of values under OR
SELECT k, v FROM t WHERE (k, v * 10) IN (SELECT k, w FROM u) OR v = 2;

--- changelog
+I,a,1
+I,b,2

--- query NOT IN of a list of values under OR (not as Flink)
SELECT k, v FROM t WHERE (k, v * 10) NOT IN (SELECT k, w FROM u) OR v = 2;

--- changelog
+I,b,2
+I,a,3
+I,c,NULL

--- query a list of values in CASE
SELECT k, v, CASE WHEN (k, v * 10) IN (SELECT k, w FROM u) THEN 1 ELSE 2 END FROM t;

--- changelog
+I,a,1,1
+I,a,3,2
+I,b,2,2
+I,c,NULL,2
