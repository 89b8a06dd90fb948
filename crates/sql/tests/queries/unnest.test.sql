-- UNNEST in FROM. Answers follow Flink's documentation, "Joins", section "Array, Multiset and Map Expansion", and its tests, UnnestITCase.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE given (id INT, s STRING, a ARRAY<INT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
-- Flink reads NULL of an array in CSV as an array with one NULL.
CREATE VIEW t AS SELECT id, s, CASE WHEN id <> 3 THEN a END AS a, ts FROM given;
CREATE TABLE b (k INT, n STRING);
CREATE TABLE c (id INT, a ARRAY<INT>, PRIMARY KEY (id) NOT ENFORCED) WITH ('format' = 'debezium-json');
CREATE TABLE z (id INT, a ARRAY<INT>, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts);
CREATE VIEW v AS SELECT id, x, ts FROM t CROSS JOIN UNNEST(a) AS u (x);

--- input given
1,"p,q",1;2;3,2024-01-01 00:00:01.000
2,"r",,2024-01-01 00:00:02.000
3,NULL,8,2024-01-01 00:00:12.000
4,"q",7,2024-01-01 00:00:14.000

--- input b
1,one
2,two
4,four

--- input c
+I,1,1;2
+I,2,5
-U,1,1;2
+U,1,2;3;4
-D,2,5
+I,3,

--- input z
1,1;2,2024-01-01 04:59:59.000Z
2,4,2024-01-01 05:00:00.000Z

--- query a list of tables; NULL and empty arrays have no rows
SELECT id, x FROM t, UNNEST(t.a) AS u (x);

--- rows
1,1
1,2
1,3
4,7

--- query the columns of the row come first
SELECT * FROM t CROSS JOIN UNNEST(a) AS u (x) WHERE id = 4;

--- rows
4,q,[7],2024-01-01 00:00:14.000,7

--- query INNER JOIN ON TRUE
SELECT id, x FROM t INNER JOIN UNNEST(a) AS u (x) ON TRUE;

--- rows
1,1
1,2
1,3
4,7

--- query a condition of an inner join is one on the rows behind it
SELECT id, x FROM t JOIN UNNEST(a) AS u (x) ON x > id AND id < 4;

--- rows
1,2
1,3

--- query LEFT JOIN pads rows without elements
SELECT id, x FROM t LEFT JOIN UNNEST(a) AS u (x) ON TRUE;

--- rows
1,1
1,2
1,3
2,NULL
3,NULL
4,7

--- query WHERE behind LEFT JOIN
SELECT id, x FROM t LEFT JOIN UNNEST(a) AS u (x) ON TRUE WHERE (x > 1 OR x IS NULL) AND id <> 3;

--- rows
1,2
1,3
2,NULL
4,7

--- query positions begin at 1
SELECT id, x, n FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u (x, n);

--- rows
1,1,1
1,2,2
1,3,3
4,7,1

--- query padded rows have no position
SELECT id, x, n FROM t LEFT JOIN UNNEST(a) WITH ORDINALITY AS u (x, n) ON TRUE WHERE id > 1;

--- rows
2,NULL,NULL
3,NULL,NULL
4,7,1

--- query a condition on positions
SELECT id, x FROM t, UNNEST(a) WITH ORDINALITY AS u (x, n) WHERE n = 2;

--- rows
1,2

--- query NULL elements are rows
SELECT id, x, n FROM t CROSS JOIN UNNEST(ARRAY[id, NULL, 0]) WITH ORDINALITY AS u (x, n) WHERE id = 3;

--- rows
3,3,1
3,NULL,2
3,0,3

--- query maps have a key and a value
SELECT id, k, w FROM t CROSS JOIN UNNEST(MAP['x', id, 'y', NULL]) AS u (k, w) WHERE id < 3;

--- rows
1,x,1
1,y,NULL
2,x,2
2,y,NULL

--- query maps WITH ORDINALITY, by the names that Flink gives
SELECT `KEY`, `VALUE`, `ORDINALITY` FROM UNNEST(MAP['x', 5]) WITH ORDINALITY;

--- rows
x,5,1

--- query each field of a row is a column
SELECT id, f, g FROM t CROSS JOIN UNNEST(ARRAY[ROW(id, 'a'), ROW(id + 1, 'b')]) AS u (f, g) WHERE id = 1;

--- rows
1,1,a
1,2,b

--- query fields keep their names without a list of names
SELECT u.`EXPR$0`, u.`EXPR$1`, `ORDINALITY` FROM t, UNNEST(ARRAY[ROW(id, s)]) WITH ORDINALITY AS u WHERE id = 4;

--- rows
4,q,1

--- query a NULL row has NULL in all fields
SELECT f, g, n FROM t CROSS JOIN UNNEST(ARRAY[ROW(id, 'a'), CASE WHEN id > 5 THEN ROW(id, 'b') END]) WITH ORDINALITY AS u (f, g, n)
WHERE id = 1;

--- rows
1,a,1
NULL,NULL,2

--- query an expression over the columns before
SELECT id, w FROM t CROSS JOIN UNNEST(SPLIT(s, ',')) AS u (w);

--- rows
1,p
1,q
2,r
4,q

--- query alone
SELECT x FROM UNNEST(ARRAY[1, 2]) AS u (x);

--- rows
1
2

--- query all columns, alone and without a name
SELECT * FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY;

--- rows
a,1
b,2

--- query a column without a name
SELECT `EXPR$0` + 1 FROM t CROSS JOIN UNNEST(a);

--- rows
2
3
4
8

--- query a single column is called as its table
SELECT id, u + u.u FROM t CROSS JOIN UNNEST(t.a) AS u;

--- rows
1,2
1,4
1,6
4,14

--- query VALUES beside it
SELECT * FROM (VALUES ('a')) AS o (w) CROSS JOIN UNNEST(ARRAY[1, 2, 3]) WITH ORDINALITY AS u (x, n);

--- rows
a,1,1
a,2,2
a,3,3

--- query twice, an array within an array
SELECT i, j, x FROM UNNEST(ARRAY[ARRAY[1, 2], ARRAY[3]]) WITH ORDINALITY AS o (e, i) CROSS JOIN UNNEST(e) WITH ORDINALITY AS p (x, j);

--- rows
1,1,1
1,2,2
2,1,3

--- query twice, each with each
SELECT id, x, w FROM t, UNNEST(a) AS u (x), UNNEST(SPLIT(s, ',')) AS d (w) WHERE x < 3;

--- rows
1,1,p
1,1,q
1,2,p
1,2,q

--- query twice, padded both times
SELECT id, x, y FROM t LEFT JOIN UNNEST(a) AS u (x) ON TRUE LEFT JOIN UNNEST(ARRAY_REMOVE(ARRAY[x], 7)) AS d (y) ON TRUE WHERE id > 2;

--- rows
3,NULL,NULL
4,7,NULL

--- query a condition of WHERE finds its join below
SELECT id, n, x FROM t, b, UNNEST(t.a) AS u (x) WHERE t.id = b.k AND x > 1;

--- rows
1,one,2
1,one,3
4,four,7

--- query its rows join by their elements
SELECT id, n FROM t CROSS JOIN UNNEST(a) AS u (x) JOIN b ON b.k = u.x;

--- rows
1,one
1,two

--- query elements join in a list of tables
SELECT id, n FROM t, UNNEST(a) AS u (x), b WHERE b.k = u.x AND t.id = 1;

--- rows
1,one
1,two

--- query LEFT JOIN behind it
SELECT id, x, n FROM t CROSS JOIN UNNEST(a) AS u (x) LEFT JOIN b ON b.k = x;

--- changelog
+I,1,1,one
+I,1,2,two
+I,1,3,NULL
+I,4,7,NULL

--- query USING beside it
SELECT id, n, x FROM t JOIN (SELECT k AS id, n FROM b) AS d USING (id) CROSS JOIN UNNEST(a) AS u (x);

--- rows
1,one,1
1,one,2
1,one,3
4,four,7

--- query a common column with the elements
SELECT * FROM b JOIN UNNEST(ARRAY[4, 1]) AS u (k) USING (k);

--- rows
1,one
4,four

--- query a common column with elements of the row
SELECT id, x FROM (SELECT id, id AS x, a FROM t) AS q NATURAL JOIN UNNEST(a) AS u (x);

--- rows
1,1

--- query an UNNEST without columns is a table of any join
SELECT n, x FROM b RIGHT JOIN UNNEST(ARRAY[1, 9]) AS u (x) ON b.k = u.x;

--- changelog
+I,one,1
+I,NULL,9

--- query an UNNEST without columns in a LEFT JOIN with a condition
SELECT k, x FROM b LEFT JOIN UNNEST(ARRAY[1, 9]) AS u (x) ON k = x;

--- changelog
+I,1,1
+I,2,NULL
+I,4,NULL

--- query within brackets
SELECT n, x FROM b CROSS JOIN (t CROSS JOIN UNNEST(t.a) AS u (x)) WHERE k = x;

--- rows
one,1
two,2

--- query IN of a query on the elements
SELECT id, x FROM t, UNNEST(a) AS u (x) WHERE x IN (SELECT k FROM b);

--- rows
1,1
1,2

--- query a sub-query with an UNNEST
SELECT k FROM b WHERE k IN (SELECT x FROM t, UNNEST(a) AS u (x));

--- rows
1
2

--- query in a view, below a window, by the time of its row
SELECT window_start, COUNT(*), SUM(x) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,3,6
2024-01-01 00:00:10.000,1,7

--- query behind a window function
SELECT window_start, id, x FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) CROSS JOIN UNNEST(a) AS u (x);

--- rows
2024-01-01 00:00:00.000,1,1
2024-01-01 00:00:00.000,1,2
2024-01-01 00:00:00.000,1,3
2024-01-01 00:00:10.000,4,7

--- query windows pass through it to an aggregate
SELECT window_end, COUNT(*), COUNT(x) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND)) LEFT JOIN UNNEST(a) AS u (x) ON TRUE
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:10.000,4,3
2024-01-01 00:00:20.000,6,4
2024-01-01 00:00:30.000,2,1

--- query behind the aggregate of a window
SELECT window_start, w FROM (
  SELECT window_start, ARRAY_AGG(id) AS ids FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end
) CROSS JOIN UNNEST(ids) AS u (w);

--- rows
2024-01-01 00:00:00.000,1
2024-01-01 00:00:00.000,2
2024-01-01 00:00:10.000,3
2024-01-01 00:00:10.000,4

--- query the first rows of each window
SELECT window_start, x FROM (
  SELECT window_start, x, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY x DESC) AS rn
  FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) CROSS JOIN UNNEST(a) AS u (x)
) WHERE rn <= 2;

--- rows
2024-01-01 00:00:00.000,3
2024-01-01 00:00:00.000,2
2024-01-01 00:00:10.000,7

--- query OVER in the order of time
SELECT id, x, SUM(x) OVER (PARTITION BY id ORDER BY ts) AS s FROM v;

--- rows
1,1,6
1,2,6
1,3,6
4,7,7

--- query a join of intervals by the time of the row
SELECT l.x, r.id FROM v AS l JOIN t AS r ON l.id = r.id AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '1' SECOND;

--- rows
1,1
2,1
3,1
7,4

--- query GROUP BY of elements
SELECT x, COUNT(*) FROM (SELECT x FROM t, UNNEST(a) AS u (x) UNION ALL SELECT k FROM b) GROUP BY x;

--- changelog
+I,1,1
+I,2,1
+I,3,1
+I,7,1
-U,1,1
+U,1,2
-U,2,1
+U,2,2
+I,4,1

--- query elements are counted without their values
SELECT COUNT(*) FROM t, UNNEST(a) AS u (x);

--- changelog
+I,4

--- query DISTINCT
SELECT DISTINCT id FROM v;

--- changelog
+I,1
+I,4

--- query changes of a row are those of its elements
SELECT id, x FROM c CROSS JOIN UNNEST(a) AS u (x);

--- changelog
+I,1,1
+I,1,2
+I,2,5
-U,1,1
-U,1,2
+U,1,2
+U,1,3
+U,1,4
-D,2,5

--- query changes of padded rows
SELECT id, x, n FROM c LEFT JOIN UNNEST(a) WITH ORDINALITY AS u (x, n) ON TRUE;

--- changelog
+I,1,2,1
+I,1,3,2
+I,1,4,3
+I,3,NULL,NULL

--- query GROUP BY over changes
SELECT x, COUNT(*), MIN(id) FROM c CROSS JOIN UNNEST(a) AS u (x) GROUP BY x;

--- changelog
+I,2,1,1
+I,3,1,1
+I,4,1,1

--- query a join over changes
SELECT n, x FROM c CROSS JOIN UNNEST(a) AS u (x) JOIN b ON k = x;

--- changelog
+I,two,2
+I,four,4

--- query the first rows over changes
SELECT id, x FROM (SELECT id, x, ROW_NUMBER() OVER (PARTITION BY id ORDER BY x DESC) AS rn FROM c, UNNEST(a) AS u (x)) WHERE rn <= 2;

--- changelog
+I,1,3
+I,1,4

--- set 'table.local-time-zone' = 'America/New_York'

--- query windows of a day in a time zone
SELECT window_start, SUM(x) FROM TABLE(TUMBLE(TABLE z, DESCRIPTOR(ts), INTERVAL '1' DAY)) CROSS JOIN UNNEST(a) AS u (x) GROUP BY window_start, window_end;

--- rows
2023-12-31 00:00:00.000,3
2024-01-01 00:00:00.000,4

--- query instants in an array are shown in the time zone
SELECT x FROM z CROSS JOIN UNNEST(ARRAY[ts]) AS u (x) WHERE id = 2;

--- rows
2024-01-01 00:00:00.000

--- set 'table.local-time-zone' = 'UTC'

--- query LEFT JOIN with another condition
SELECT id, x FROM t LEFT JOIN UNNEST(a) AS u (x) ON x > 1;

--- error UNSUPPORTED
a condition of LEFT JOIN UNNEST other than TRUE is not supported

--- query RIGHT JOIN of columns before it
SELECT id, x FROM t RIGHT JOIN UNNEST(a) AS u (x) ON TRUE;

--- error UNSUPPORTED
RIGHT or FULL JOIN with UNNEST of columns before it

--- query LEFT JOIN without a condition
SELECT id, x FROM t LEFT JOIN UNNEST(a) AS u (x);

--- error SYNTAX
a join has no condition

--- query no collection
SELECT * FROM t, UNNEST(id) AS u (x);

--- error TYPE_MISMATCH
UNNEST takes an ARRAY or a MAP, and this is INT

--- query several arrays
SELECT * FROM UNNEST(ARRAY[1], ARRAY[2]) AS u (x, y);

--- error UNSUPPORTED
UNNEST of several arrays

--- query nothing
SELECT * FROM UNNEST() AS u (x);

--- error SYNTAX
UNNEST takes an ARRAY or a MAP

--- query too many names
SELECT * FROM t, UNNEST(a) AS u (x, y);

--- error INVALID
the list names 2 columns, and `u` has 1

--- query a table that comes later
SELECT * FROM UNNEST(t.a) AS u (x), t;

--- error UNKNOWN_TABLE
no table is called `t` here

--- query a table in front of a join of the list
SELECT * FROM t, UNNEST(t.a) AS u (x) JOIN b ON b.k = u.x;

--- changelog
+I,1,"p,q","[1, 2, 3]",2024-01-01 00:00:01.000,1,1,one
+I,1,"p,q","[1, 2, 3]",2024-01-01 00:00:01.000,2,2,two

--- query outside of FROM
SELECT UNNEST(a) FROM t;

--- error UNSUPPORTED
UNNEST outside of FROM

--- query a table function of the user
SELECT * FROM t, LATERAL TABLE(f(s)) AS u (x);

--- error UNKNOWN_FUNCTION
there is no table function F

--- query an array that changes at each call, over changes
SELECT id, x FROM c CROSS JOIN UNNEST(ARRAY[RAND()]) AS u (x);

--- error UNSUPPORTED
its array or map has another value when a row is taken back
