-- Several values compared with several others at once. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (id INT, a INT, b STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

--- input t
1,1,x,2024-01-01 00:00:02.000
2,1,y,2024-01-01 00:00:03.000
3,2,x,2024-01-01 00:00:04.000
4,NULL,x,2024-01-01 00:00:05.000
5,1,NULL,2024-01-01 00:00:06.000
6,NULL,NULL,2024-01-01 00:00:07.000

--- query one of several
SELECT id FROM t WHERE (a, b) IN ((1, 'x'), (2, 'y'), (2, 'x'));

--- rows
1
3

--- query none of several, where nothing is unknown that matters
SELECT id FROM t WHERE (a, b) NOT IN ((1, 'x'), (2, 'x'));

--- rows
2

--- query NULL may be different by the other value
SELECT id, (a, b) IN ((1, 'z')) AS y FROM t;

--- rows
1,FALSE
2,FALSE
3,FALSE
4,FALSE
5,NULL
6,NULL

--- query one only
SELECT id FROM t WHERE (b, a) IN (('y', 1));

--- rows
2

--- query equal
SELECT id, (a, b) = (1, 'x') AS e FROM t;

--- rows
1,TRUE
2,FALSE
3,FALSE
4,NULL
5,NULL
6,NULL

--- query different, which is not known where equal is not (not as Flink)
SELECT id, (a, b) <> (1, 'x') AS d FROM t;

--- rows
1,FALSE
2,TRUE
3,TRUE
4,NULL
5,NULL
6,NULL

--- query a join by several
SELECT t.id, u.n FROM t JOIN (VALUES (1, 'y', 7), (2, 'x', 8)) AS u(k, l, n) ON (t.a, t.b) = (u.k, u.l);

--- rows
2,7
3,8

--- query too few values
SELECT id FROM t WHERE (a, b) IN ((1, 'x'), (2));

--- error TYPE_MISMATCH
2 values are compared with one

--- query values that are computed
SELECT id FROM t WHERE (a + 1, b) IN ((2, 'x'));

--- rows
1
