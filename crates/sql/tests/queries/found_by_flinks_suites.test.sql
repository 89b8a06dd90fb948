-- Queries of the kinds that Flink's own suites ask, which were answered wrongly once. The rows are those of Flink 2.3.
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (b INT, c STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE arrays (id INT, a ARRAY<INT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

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

--- error UNSUPPORTED
USING

--- query collections of values
SELECT ARRAY[1, 2.5], CARDINALITY(ARRAY[1, 2, NULL]), MAP['a', 1, 'b', 2], MAP['a', 1, 'a', 2]['a'], ROW(1, 'a');

--- rows
"[1.0, 2.5]",3,"{a=1, b=2}",2,"(1, a)"
