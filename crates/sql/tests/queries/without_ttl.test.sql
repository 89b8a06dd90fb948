-- Queries without a window and without a time to live: they keep all rows, and what is left of their changes is the answer.
-- Answers by hand. Source: Flink's documentation, "Set Operations", "Joins", "Group Aggregation", "Deduplication".
CREATE TABLE A (id INT, k STRING, v INT);
CREATE TABLE B (id INT, k STRING, v INT);

--- input A
1,a,10
2,b,20
3,a,30
4,NULL,40
5,c,20

--- input B
1,a,1
2,a,2
3,d,3
4,NULL,4

--- query union of different rows
SELECT k FROM A UNION SELECT k FROM B;

--- changelog
+I,a
+I,b
+I,c
+I,d
+I,NULL

--- query rows that both have
SELECT k FROM A INTERSECT SELECT k FROM B;

--- changelog
+I,a
+I,NULL

--- query rows that only the first has
SELECT k FROM A EXCEPT SELECT k FROM B;

--- changelog
+I,b
+I,c

--- query rows with a partner by IN
SELECT id FROM A WHERE k IN (SELECT k FROM B);

--- changelog
+I,1
+I,3

--- query rows without a partner by NOT EXISTS
SELECT id FROM A WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k);

--- changelog
+I,2
+I,4
+I,5

--- query a full join
SELECT A.id, B.id FROM A FULL JOIN B ON A.k = B.k;

--- changelog
+I,1,1
+I,1,2
+I,3,1
+I,3,2
+I,2,NULL
+I,4,NULL
+I,5,NULL
+I,NULL,3
+I,NULL,4

--- query one row of all
SELECT COUNT(*), COUNT(DISTINCT k), MAX(v) FROM A;

--- changelog
+I,5,3,40

--- query an aggregate of an aggregate
SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM A GROUP BY k) GROUP BY n;

--- changelog
+I,1,3
+I,2,1

--- query a join of aggregates
SELECT x.k, x.n, y.m
FROM (SELECT k, SUM(v) AS n FROM A GROUP BY k) AS x
JOIN (SELECT k, SUM(v) AS m FROM B GROUP BY k) AS y ON x.k = y.k;

--- changelog
+I,a,40,3
