-- Batch mode: the final rows of inputs that end. No row is late, nothing needs a time to live, and ORDER BY takes any columns.
CREATE TABLE visits (
  path STRING, visitor INT, took_ms INT, seen TIMESTAMP(3), WATERMARK FOR seen AS seen
);
CREATE TABLE owners (path STRING, owner STRING);

--- set 'execution.runtime-mode' = 'batch'

--- input visits
/,1,10,2024-05-01 10:00:00.000
/a,2,40,2024-05-01 10:00:01.000
/,2,20,2024-05-01 10:00:04.000
/b,3,NULL,2024-05-01 10:01:30.000
/,1,30,2024-05-01 10:00:02.000
/a,1,5,2024-05-01 10:01:10.000
/c,NULL,7,2024-05-01 09:59:59.000
/,3,10,2024-05-01 10:02:00.000

--- input owners
/,ada
/a,ben
/a,cem
/d,dia

--- query top paths by count
SELECT path, COUNT(*) AS n FROM visits GROUP BY path ORDER BY n DESC, path LIMIT 2;

--- rows ordered
/,4
/a,2

--- query all paths by the sum, which may be NULL
SELECT path, SUM(took_ms) AS total FROM visits GROUP BY path ORDER BY total;

--- rows ordered
/b,NULL
/c,7
/a,45
/,70

--- query NULL where it is asked for
SELECT visitor, path FROM visits ORDER BY visitor NULLS LAST, path DESC, seen;

--- rows ordered
1,/a
1,/
1,/
2,/a
2,/
3,/b
3,/
NULL,/c

--- query descending with NULL first
SELECT took_ms, path FROM visits WHERE path <> '/' ORDER BY took_ms DESC NULLS FIRST;

--- rows ordered
NULL,/b
40,/a
7,/c
5,/a

--- query by an expression over a column that is not selected
SELECT path FROM visits WHERE took_ms IS NOT NULL ORDER BY ABS(took_ms - 20), path DESC, seen LIMIT 3;

--- rows ordered
/
/
/

--- query a page of the rows
SELECT path, visitor FROM visits ORDER BY took_ms, path, visitor LIMIT 3 OFFSET 2;

--- rows ordered
/c,NULL
/,1
/,3

--- query latest first
SELECT path, visitor FROM visits ORDER BY seen DESC LIMIT 2;

--- rows ordered
/,3
/b,3

--- query no rows
SELECT path FROM visits ORDER BY took_ms LIMIT 0;

--- rows

--- query first by time
SELECT path, visitor FROM visits ORDER BY seen LIMIT 1;

--- rows ordered
/c,NULL

--- query distinct values
SELECT DISTINCT path FROM visits ORDER BY path DESC;

--- rows ordered
/c
/b
/a
/

--- query an aggregate of all rows
SELECT COUNT(*), COUNT(DISTINCT visitor), MIN(took_ms), MAX(seen) FROM visits;

--- rows
8,3,5,2024-05-01 10:02:00.000

--- query an aggregate of no rows
SELECT COUNT(*), SUM(took_ms) FROM visits WHERE path = '/x';

--- rows
0,NULL

--- query groups that a condition keeps
SELECT path, COUNT(*) AS n FROM visits GROUP BY path HAVING COUNT(*) < 3 ORDER BY n DESC, path DESC;

--- rows ordered
/a,2
/c,1
/b,1

--- query grouping sets
SELECT path, visitor, COUNT(*) AS n FROM visits WHERE took_ms >= 10
GROUP BY GROUPING SETS ((path), (visitor), ()) ORDER BY path, visitor;

--- rows ordered
NULL,NULL,5
NULL,1,2
NULL,2,2
NULL,3,1
/,NULL,4
/a,NULL,1

--- query no row is late in a window
SELECT window_start, COUNT(*) AS n, SUM(took_ms) AS total
FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(seen), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end ORDER BY n DESC, window_start;

--- rows ordered
2024-05-01 10:00:00.000,4,100
2024-05-01 10:01:00.000,2,5
2024-05-01 09:59:00.000,1,7
2024-05-01 10:02:00.000,1,10

--- query first rows of each window
SELECT window_start, path, took_ms FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY took_ms DESC) AS place
  FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(seen), INTERVAL '1' MINUTE))
) WHERE place = 1 ORDER BY took_ms DESC NULLS LAST;

--- rows ordered
2024-05-01 10:00:00.000,/a,40
2024-05-01 10:02:00.000,/,10
2024-05-01 09:59:00.000,/c,7
2024-05-01 10:01:00.000,/a,5

--- query first row of each key
SELECT path, visitor, took_ms FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY path ORDER BY took_ms DESC, visitor) AS place FROM visits
  WHERE took_ms IS NOT NULL
) WHERE place <= 2 ORDER BY path, took_ms;

--- rows ordered
/,2,20
/,1,30
/a,1,5
/a,2,40
/c,NULL,7

--- query running sums in the order of time
SELECT path, SUM(took_ms) OVER (PARTITION BY path ORDER BY seen ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sum_so_far
FROM visits WHERE path = '/' ORDER BY sum_so_far DESC;

--- rows ordered
/,70
/,60
/,40
/,10

--- query a join without a bound in time
SELECT o.owner, COUNT(*) AS n FROM visits AS v JOIN owners AS o ON v.path = o.path
GROUP BY o.owner ORDER BY n DESC, o.owner;

--- rows ordered
ada,4
ben,2
cem,2

--- query an outer join shows its last state
SELECT v.path, v.visitor, o.owner FROM visits AS v LEFT JOIN owners AS o ON v.path = o.path WHERE v.path <> '/'
ORDER BY v.path, o.owner, v.visitor;

--- rows ordered
/a,1,ben
/a,2,ben
/a,1,cem
/a,2,cem
/b,3,NULL
/c,NULL,NULL

--- query a full join
SELECT DISTINCT v.path, o.path AS other FROM visits AS v FULL JOIN owners AS o ON v.path = o.path ORDER BY v.path, other;

--- rows ordered
NULL,/d
/,/
/a,/a
/b,NULL
/c,NULL

--- query paths without an owner
SELECT DISTINCT path FROM visits WHERE path NOT IN (SELECT path FROM owners) ORDER BY path;

--- rows ordered
/b
/c

--- query first rows of a sub-query
SELECT o.owner, t.n FROM (
  SELECT path, COUNT(*) AS n FROM visits GROUP BY path ORDER BY n DESC, path LIMIT 2
) AS t JOIN owners AS o ON t.path = o.path ORDER BY t.n, o.owner DESC;

--- rows ordered
cem,2
ben,2
ada,4

--- query aggregate of the first rows
SELECT SUM(took_ms) AS total, COUNT(*) AS n FROM (SELECT took_ms FROM visits WHERE took_ms > 0 ORDER BY took_ms DESC LIMIT 3);

--- rows
90,3

--- query union of both tables
SELECT path FROM visits WHERE visitor = 2 UNION ALL SELECT path FROM owners ORDER BY path DESC LIMIT 4;

--- rows ordered
/d
/a
/a
/a

--- query union without duplicates
SELECT path FROM visits UNION SELECT path FROM owners ORDER BY path;

--- rows ordered
/
/a
/b
/c
/d

--- query an aggregate of an aggregate
SELECT n, COUNT(*) AS paths FROM (SELECT path, COUNT(*) AS n FROM visits GROUP BY path) GROUP BY n ORDER BY paths DESC, n;

--- rows ordered
1,2
2,1
4,1
