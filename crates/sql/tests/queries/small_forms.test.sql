-- Small forms of expressions and calls. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (
  id INT, a INT, b STRING, d DOUBLE, ts TIMESTAMP(3), ts2 TIMESTAMP(3), WATERMARK FOR ts AS ts
);
CREATE VIEW r AS SELECT id, ROW(a, b) AS pair FROM t;

--- input t
1,1,x,0.5,2024-01-01 00:00:01.000,2024-01-01 00:00:03.500
2,1,y,1.5,2024-01-01 00:00:02.000,2024-02-01 00:00:00.000
3,2,x,NULL,2024-01-01 00:00:03.000,NULL
4,NULL,NULL,2.5,2024-01-01 00:00:04.000,2023-01-01 00:00:00.000

--- query BETWEEN SYMMETRIC takes its bounds in any order
SELECT id, id BETWEEN SYMMETRIC 3 AND 2, id NOT BETWEEN SYMMETRIC 3 AND 2, id BETWEEN ASYMMETRIC 3 AND 2 FROM t;

--- rows
1,FALSE,TRUE,FALSE
2,TRUE,FALSE,FALSE
3,TRUE,FALSE,FALSE
4,FALSE,TRUE,FALSE

--- query BETWEEN SYMMETRIC of NULL, and beside AND
SELECT id FROM t WHERE id BETWEEN SYMMETRIC 4 AND 1 AND (a BETWEEN SYMMETRIC 3 AND CAST(NULL AS INT)) IS NULL;

--- rows
1
2
3
4

--- query several values in a WHEN beside an expression
SELECT id, CASE a + 1 WHEN 1, 2 THEN 'p' WHEN 3 THEN 'q' ELSE 'r' END, CASE UPPER(b) WHEN 'X', 'Z' THEN 1 END FROM t;

--- rows
1,p,1
2,p,NULL
3,q,1
4,r,NULL

--- query POSITION from a place on
SELECT POSITION('a' IN 'banana' FROM 3), POSITION('a' IN 'banana' FROM 0), POSITION('a' IN 'banana' FROM -1),
  POSITION('' IN 'banana' FROM 3), POSITION('a' IN 'banana' FROM 9), POSITION('n' IN 'banana');

--- rows
4,2,2,1,0,3

--- query spans of time that overlap
SELECT id, (ts, ts2) OVERLAPS (TIMESTAMP '2024-01-01 00:00:03', TIMESTAMP '2024-01-15 00:00:00') FROM t;

--- rows
1,TRUE
2,TRUE
3,NULL
4,TRUE

--- query spans that touch, and spans by intervals
SELECT (DATE '2024-01-01', DATE '2024-01-05') OVERLAPS (DATE '2024-01-05', DATE '2024-01-08'),
  (DATE '2024-01-01', INTERVAL '4' DAY) OVERLAPS (DATE '2024-01-05', INTERVAL '1' DAY),
  (TIME '10:00:00', INTERVAL '1' HOUR) OVERLAPS (TIME '11:30:00', INTERVAL '1' HOUR);

--- rows
TRUE,TRUE,FALSE

--- query OVERLAPS is for times
SELECT (1, 3) OVERLAPS (2, 4);

--- error TYPE_MISMATCH
OVERLAPS: argument 1 is INT

--- query an interval between two times, moved by
SELECT id, ts + (ts2 - ts) HOUR, DATE '2024-01-01' + (DATE '2024-03-01' - DATE '2024-01-15') DAY FROM t;

--- rows
1,2024-01-01 00:00:03.500,2024-02-16
2,2024-02-01 00:00:00.000,2024-02-16
3,NULL,2024-02-16
4,2023-01-01 00:00:00.000,2024-02-16

--- query parts of an interval between two times
SELECT id, EXTRACT(DAY FROM (ts2 - ts) DAY), EXTRACT(SECOND FROM (ts2 - ts) DAY TO SECOND) FROM t;

--- rows
1,0,2
2,30,58
3,NULL,NULL
4,-365,-4

--- query months between two times
SELECT TIMESTAMP '2000-01-01 00:00:00' + (TIMESTAMP '2024-03-31 00:00:00' - TIMESTAMP '2022-02-28 12:00:00') YEAR TO MONTH,
  DATE '2000-01-01' + (DATE '2024-03-01' - DATE '2024-01-15') MONTH;

--- rows
2002-02-01 00:00:00,2000-02-01

--- query an interval lies between times of one type
SELECT (ts - DATE '2024-01-01') DAY FROM t;

--- error TYPE_MISMATCH
an interval lies between two times of one type

--- query a field of a row by its position
SELECT id, pair[1], pair[2] FROM r;

--- rows
1,1,x
2,1,y
3,2,x
4,NULL,NULL

--- query a position that the row does not have
SELECT pair[3] FROM r;

--- error TYPE_MISMATCH
there is no field 3: the row has the fields 1 to 2

--- query all fields of a row
SELECT id, pair.* FROM (SELECT id, CAST(pair AS ROW<x INT, y STRING>) AS pair FROM r);

--- rows
1,1,x
2,1,y
3,2,x
4,NULL,NULL

--- query all fields of a row with their names
SELECT y, x FROM (SELECT q.pair.* FROM (SELECT CAST(pair AS ROW<x INT, y STRING>) AS pair FROM r) AS q);

--- rows
x,1
y,1
x,2
NULL,NULL

--- query a column that is no row has no fields
SELECT a.* FROM t;

--- error TYPE_MISMATCH
`.*` stands behind a table or a ROW, and this is INT

--- query expressions in brackets before IN
SELECT id, (a + 1, UPPER(b)) IN ((2, 'X'), (3, 'X')), (a + 1, b) = (2, 'y') FROM t;

--- rows
1,TRUE,FALSE
2,FALSE,TRUE
3,TRUE,FALSE
4,NULL,NULL

--- query comments behind two slashes
SELECT 1 // it's a comment
  + 2, 'http://a' // and another;

--- rows
3,http://a

--- query PRINTF
SELECT PRINTF('%s-%d', 'a', 1), PRINTF('%05d|%-5s|%.2f|%x', 42, 'x', CAST(1.5 AS DOUBLE), 255), PRINTF('%2$s %1$s', 'a', 'b'),
  PRINTF('%,d', 1234567), PRINTF('%e', CAST(12345.678 AS DOUBLE)), PRINTF('%b', TRUE), PRINTF('%c', 65), PRINTF('%%');

--- rows
a-1,00042|x    |1.50|ff,b a,"1,234,567",1.234568e+04,true,A,%

--- query PRINTF of values as they are held
SELECT PRINTF('%s', 1.50), PRINTF('%s', DATE '2024-01-01'), PRINTF('%s', TIMESTAMP '2024-01-01 10:11:12.5'),
  PRINTF('%s', TIME '10:11:12'), PRINTF('%s', TRUE), PRINTF('%s', CAST(NULL AS INT)), PRINTF('%.2f', 1.5);

--- rows
1.50,19723,2024-01-01T10:11:12.500,36672000,true,null,NULL

--- query PRINTF with a pattern that does not fit is NULL
SELECT PRINTF('%d', 'a'), PRINTF('%q', 1), PRINTF('%s'), PRINTF('abc'), PRINTF('%s %s', 'a'), PRINTF(CAST(NULL AS STRING), 1);

--- rows
NULL,NULL,NULL,abc,NULL,NULL

--- query PRINTF of columns
SELECT PRINTF(b, a), PRINTF('%d', a) FROM t;

--- rows
x,1
y,1
x,2
NULL,null

--- query IGNORE NULLS of ARRAY_AGG
SELECT ARRAY_AGG(b IGNORE NULLS), ARRAY_AGG(b) IGNORE NULLS, ARRAY_AGG(b RESPECT NULLS), ARRAY_AGG(DISTINCT b IGNORE NULLS) FROM t;

--- changelog
+I,[x],[x],[x],[x]
-U,[x],[x],[x],[x]
+U,"[x, y]","[x, y]","[x, y]","[x, y]"
-U,"[x, y]","[x, y]","[x, y]","[x, y]"
+U,"[x, y, x]","[x, y, x]","[x, y, x]","[x, y]"
-U,"[x, y, x]","[x, y, x]","[x, y, x]","[x, y]"
+U,"[x, y, x]","[x, y, x]","[x, y, x, NULL]","[x, y]"

--- query IGNORE NULLS with OVER
SELECT id, ARRAY_AGG(b) IGNORE NULLS OVER (ORDER BY ts) FROM t;

--- rows
1,[x]
2,"[x, y]"
3,"[x, y, x]"
4,"[x, y, x]"

--- query IGNORE NULLS of other aggregates
SELECT FIRST_VALUE(b) IGNORE NULLS FROM t;

--- error UNSUPPORTED
IGNORE NULLS of FIRST_VALUE is not supported

--- query ORDER BY within an aggregate
SELECT ARRAY_AGG(b ORDER BY id DESC) FROM t;

--- error UNSUPPORTED
ORDER BY within a call

--- query WITHIN GROUP
SELECT LISTAGG(b, ',') WITHIN GROUP (ORDER BY id DESC) FROM t;

--- error UNSUPPORTED
WITHIN GROUP

--- query digits of a second by the pattern
SELECT TO_TIMESTAMP_LTZ('2024-01-01 00:00:00.123456', 'yyyy-MM-dd HH:mm:ss.SSSSSS'), TO_TIMESTAMP_LTZ('2024-01-01 00:00:00.123456'),
  TO_TIMESTAMP_LTZ('2024-01-01 00:00:00.123456', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'Asia/Shanghai'), TO_TIMESTAMP_LTZ('2024-01-01 00:00:00.12', 'yyyy-MM-dd HH:mm:ss.SS'),
  TO_TIMESTAMP('2024-01-01 00:00:00.123456', 'yyyy-MM-dd HH:mm:ss.SSSSSS');

--- rows
2024-01-01 00:00:00.123456,2024-01-01 00:00:00.123,2023-12-31 16:00:00.123456,2024-01-01 00:00:00.120,2024-01-01 00:00:00.123

--- query PRINTF of NULL, and of capitals
SELECT PRINTF('%d|%5d|%.2f|%b|%c|%S|%x|%.2s', CAST(NULL AS INT), CAST(NULL AS INT), CAST(NULL AS DOUBLE), CAST(NULL AS INT), CAST(NULL AS INT),
  CAST(NULL AS INT), CAST(NULL AS INT), CAST(NULL AS INT)), PRINTF('%S|%B|%X|%1$s|%<s', 'x', TRUE, 255);

--- rows
null| null|nu|false|null|NULL|null|nu,X|TRUE|FF|x|x

--- query PRINTF of numbers
SELECT PRINTF('%,.2f|%010d|%(,d|%#o|%#x|%#.0f|%g|%g|%f|%e', CAST(1234567.891 AS DOUBLE), -5, -1234, 8, 255, CAST(3 AS DOUBLE), CAST(123456 AS DOUBLE),
  CAST(0.00001234 AS DOUBLE), CAST('NaN' AS DOUBLE), CAST(0 AS DOUBLE)),
  PRINTF('%.1f %.0f %.2f %.3f', CAST(0.15 AS DOUBLE), CAST(0.5 AS DOUBLE), CAST(1.005 AS DOUBLE), CAST(2.0005 AS DOUBLE)),
  PRINTF('%f %s %.10f', CAST(0.1 AS FLOAT), CAST(0.1 AS FLOAT), CAST(0.1 AS FLOAT)), PRINTF('%x', CAST(-1 AS TINYINT));

--- rows
"1,234,567.89|-000000005|(1,234)|010|0xff|3.|123456|1.23400e-05|NaN|0.000000e+00",0.2 1 1.01 2.001,0.100000 0.1 0.1000000015,ff

--- query a unit behind anything else is no name
SELECT COUNT(*) year FROM t;

--- error SYNTAX
year is a word of SQL and no name

--- query units of two kinds
SELECT (ts - ts2) DAY TO MONTH FROM t;

--- error SYNTAX
expected a smaller unit than DAY of the same kind

--- query units in the plural
SELECT id FROM t WHERE (ts2 - ts) SECONDS > INTERVAL '1' DAY OR (ts2 - ts) DAY TO SECOND < INTERVAL '-1' DAY;

--- rows
2
4

--- query a unit that is a name behind a call
SELECT MAX(id - 1) week FROM t;

--- changelog
+I,3
