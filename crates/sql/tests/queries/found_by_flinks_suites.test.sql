-- Queries of the kinds that Flink's own suites ask, which were answered wrongly once. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (b INT, c STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE arrays (id INT, a ARRAY<INT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE slow (b INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR);
CREATE TABLE orders (id INT, k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('format' = 'debezium-json');
CREATE TABLE rates (
  k INT, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since, PRIMARY KEY (k) NOT ENFORCED
);
CREATE VIEW joined AS
SELECT o.id, r.rate, o.ts FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k;

--- input slow
1,2024-01-01 00:00:00.000
2,2024-01-01 00:00:01.000
3,2024-01-01 00:00:02.000

--- input orders
+I,1,7,2024-01-01 00:00:01.000
+I,2,7,2024-01-01 00:00:02.000
+I,3,7,2024-01-01 00:00:30.000
-D,2,7,2024-01-01 00:00:02.000

--- input rates
7,10,2024-01-01 00:00:00.000
7,20,2024-01-01 00:00:20.000

--- input t
1,A,2024-01-01 00:00:00.000
2,B,2024-01-01 00:00:01.000
2,B,2024-01-01 00:00:02.000

--- query text of any length
SELECT CAST(421 AS VARCHAR), CAST('hello' AS VARCHAR), CAST(TRUE AS VARCHAR), CAST('abc' AS VARBINARY);

--- rows
421,hello,TRUE,x'616263'

--- query what IS DISTINCT FROM takes
SELECT TRUE IS DISTINCT FROM FALSE AND FALSE, NOT 1 IS NOT DISTINCT FROM 1, 1 IS NOT DISTINCT FROM 1 AND 2 > 1 OR FALSE;

--- rows
FALSE,FALSE,TRUE

--- query times of a day have a fraction
SELECT TIME '10:00:00.5', TIME '10:00:00.5' = TIME '10:00:00', EXTRACT(MILLISECOND FROM TIME '10:00:00.5');

--- rows
10:00:00.5,FALSE,500

--- query ROLLUP alone
SELECT b, c, COUNT(*) FROM t GROUP BY ROLLUP(b, c);

--- changelog
+I,1,A,1
+I,1,NULL,1
+I,NULL,NULL,1
+I,2,B,1
+I,2,NULL,1
-U,NULL,NULL,1
+U,NULL,NULL,2
-U,2,B,1
+U,2,B,2
-U,2,NULL,1
+U,2,NULL,2
-U,NULL,NULL,2
+U,NULL,NULL,3

--- query CUBE alone
SELECT b, c, COUNT(*) FROM t GROUP BY CUBE(b, c);

--- changelog
+I,1,A,1
+I,1,NULL,1
+I,NULL,A,1
+I,NULL,NULL,1
+I,2,B,1
+I,2,NULL,1
+I,NULL,B,1
-U,NULL,NULL,1
+U,NULL,NULL,2
-U,2,B,1
+U,2,B,2
-U,2,NULL,1
+U,2,NULL,2
-U,NULL,B,1
+U,NULL,B,2
-U,NULL,NULL,2
+U,NULL,NULL,3

--- query a subscript behind a column that is called by its table
SELECT x.b, v.parts[2] FROM t AS x JOIN (SELECT b, SPLIT(c || ',z', ',') AS parts FROM t) AS v ON x.b = v.b WHERE x.b = 1;

--- rows
1,z

--- query USING of a FULL JOIN
SELECT b FROM t FULL JOIN (SELECT b, c AS d FROM t) AS o USING (b);

--- changelog
+I,1
+I,2
+I,2
+I,2
+I,2

--- query collections of values
SELECT ARRAY[1, 2.5], CARDINALITY(ARRAY[1, 2, NULL]), MAP['a', 1, 'b', 2], MAP['a', 1, 'a', 2]['a'], ROW(1, 'a');

--- rows
"[1.0, 2.5]",3,"{a=1, b=2}",2,"(1, a)"

--- query a temporal join of rows that are taken back, one of them behind the watermark
SELECT o.id, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k;

--- changelog
+I,1,10
+I,2,10
-D,2,10
+I,3,20

--- query what counts the rows of such a join
SELECT COUNT(*), SUM(rate)
FROM (SELECT o.id, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k);

--- changelog
+I,2,30

--- query windows of such a join
SELECT window_start, COUNT(*)
FROM TUMBLE(TABLE joined, DESCRIPTOR(ts), INTERVAL '10' SECOND)
GROUP BY window_start, window_end;

--- error UNSUPPORTED
the table `orders` of 'format' = 'debezium-json' changes them

--- query the first rows of such a join
SELECT id FROM joined LIMIT 1;

--- changelog
+I,1

--- query a lookup in a table whose rows change
SELECT t.b, o.id FROM (SELECT *, PROCTIME() AS now FROM t) AS t JOIN orders FOR SYSTEM_TIME AS OF t.now AS o ON o.k = t.b;

--- error UNSUPPORTED
the table of a lookup join takes rows that are only added

--- query an aggregate of a column that is also a key of a grouping set
SELECT a, c, COUNT(d), SUM(d) FROM (VALUES (1, 'A', 10), (1, 'A', 20)) AS v(a, c, d)
GROUP BY GROUPING SETS ((a, c), (a, d));

--- changelog
+I,1,A,2,30
+I,1,NULL,1,10
+I,1,NULL,1,20

--- query an aggregate of the key of a ROLLUP in windows
SELECT c, COUNT(DISTINCT c), MAX(c), COUNT(*) FILTER (WHERE c = 'A'), GROUPING(c)
FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)
GROUP BY window_start, window_end, ROLLUP (c);

--- rows
A,1,A,1,0
B,1,B,0,0
NULL,2,B,1,1

--- query a window that fails behind one that comes out
SELECT SINGLE_VALUE(b)
FROM TUMBLE(TABLE slow, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '1' SECOND)
GROUP BY window_start, window_end;

--- error NOT_ONE_ROW
row

--- query groups of rows that are taken back, by what is another value then
SELECT now, COUNT(*) FROM (SELECT k, CURRENT_TIMESTAMP AS now FROM orders) GROUP BY now;

--- error UNSUPPORTED
`now` has another value when a row is taken back

--- query a condition on rows that are taken back, which holds for one of both
SELECT id FROM orders WHERE RAND() < 0.5;

--- error UNSUPPORTED
a condition has another value when a row is taken back

--- query a time of now behind what is counted
SELECT k, COUNT(*), CURRENT_TIMESTAMP IS NULL FROM orders GROUP BY k;

--- changelog
+I,7,2,FALSE

--- query arrays of texts of different lengths in VALUES
SELECT x FROM (VALUES (ARRAY['a']), (ARRAY['abc', 'd']), (CAST(NULL AS STRING ARRAY))) AS v(x);

--- rows
[a]
"[abc, d]"
NULL

--- query maps and rows of texts of different lengths in VALUES
SELECT x, y FROM (VALUES (MAP['a', 'b'], ROW('a', 1)), (MAP['abc', 'd'], ROW('abc', 2))) AS v(x, y);

--- rows
{a=b},"(a, 1)"
{abc=d},"(abc, 2)"

--- query a name of a function in backticks
SELECT `LEFT`('abc', 2), `upper`('a'), `COUNT`(*) FROM t WHERE b = 1 GROUP BY `ABS`(b);

--- changelog
+I,ab,A,1

--- query another way to write the type of an array
SELECT CAST(NULL AS INT ARRAY), CAST(ARRAY['1', '2'] AS INT ARRAY);

--- rows
NULL,"[1, 2]"

--- query several values in brackets are a row
SELECT (1, 'x'), JSON_STRING((1, 'x')), (b, c) FROM t WHERE b = 1;

--- rows
"(1, x)","{""EXPR$0"":1,""EXPR$1"":""x""}","(1, A)"

--- query a field of a row by its name in brackets
SELECT ROW(b, c)['EXPR$1'], ARRAY[ROW(b, c)][1]['EXPR$0'] FROM t WHERE b = 1;

--- rows
A,1

--- query a field that there is not, by its name in brackets
SELECT ROW(b, c)['d'] FROM t;

--- error TYPE_MISMATCH
there is no field `d`

--- query several values in a WHEN
SELECT b, CASE b WHEN 1, 3 THEN 'odd' WHEN 2 THEN 'two' ELSE 'more' END, CASE c WHEN 'A', 'B' THEN b END,
  CASE 2 WHEN 1, 2 THEN 'x' ELSE 'y' END, CASE WHEN b = 1 THEN 1 END, CASE b WHEN NULL, 2 THEN 1 ELSE 0 END
FROM (SELECT DISTINCT b, c FROM t);

--- changelog
+I,1,odd,1,x,1,0
+I,2,two,2,x,NULL,1

--- query several values in a WHEN and nothing to compare them with
SELECT CASE WHEN b = 1, b = 2 THEN 1 END FROM t;

--- error SYNTAX
WHEN has several values, and CASE names nothing that they are compared with

--- query several values in a WHEN beside an expression
SELECT CASE b + 1 WHEN 1, 2 THEN 1 END FROM t;

--- rows
1
NULL
NULL

--- query BETWEEN with its default said
SELECT 3 BETWEEN ASYMMETRIC 1 AND 5, 3 BETWEEN ASYMMETRIC 5 AND 1, 3 NOT BETWEEN ASYMMETRIC 1 AND 2 AND TRUE, 3 BETWEEN 1 AND 5;

--- rows
TRUE,FALSE,TRUE,TRUE

--- query text with too many digits for a decimal
SELECT CAST('12345.6789' AS DECIMAL(8, 4));

--- error BAD_CAST
'12345.6789' cannot be cast to DECIMAL(8, 4)

--- query numbers with too many digits for a decimal
SELECT CAST(12345.6789 AS DECIMAL(8, 4)), TRY_CAST('12345.6789' AS DECIMAL(8, 4)), CAST('1234.5' AS DECIMAL(8, 4));

--- rows
NULL,NULL,1234.5000

--- query digits that are no literal leave the scale
SELECT TRUNCATE(CAST('-0.123456' AS DECIMAL(38, 19)), b + 2), ROUND(CAST('-0.5' AS DECIMAL(3, 2)), b - 1) FROM t WHERE b = 1;

--- rows
-0.1230000000000000000,-1.00

--- query instants of numbers with any digits of a second
SELECT TO_TIMESTAMP_LTZ(1700000000123456, 6), TO_TIMESTAMP_LTZ(-1, 9), TO_TIMESTAMP_LTZ(17, 1), TO_TIMESTAMP_LTZ(17, b) FROM t WHERE b = 1;

--- rows
2023-11-14 22:13:20.123456,1969-12-31 23:59:59.999999999,1970-01-01 00:00:01.700,1970-01-01 00:00:01.700

--- query top-N by a column
SELECT c FROM (SELECT c, n, ROW_NUMBER() OVER (PARTITION BY c ORDER BY n) AS rn FROM (SELECT c, COUNT(*) AS n FROM t GROUP BY c)) WHERE rn <= n;

--- changelog
+I,A
+I,B

--- query a long value is cut where it is quoted
SELECT CAST(REPEAT('x', 1000000) AS INT) FROM t;

--- error BAD_CAST
xxx…' cannot be cast to INT

--- query keys in brackets
SELECT c, b, COUNT(*) FROM t WHERE b = 1 GROUP BY (b, c);

--- changelog
+I,A,1,1

--- query a sub-query of two columns beside a row
SELECT 1 FROM t WHERE (b, c) IN (SELECT b, c FROM t);

--- changelog
+I,1
+I,1
+I,1
