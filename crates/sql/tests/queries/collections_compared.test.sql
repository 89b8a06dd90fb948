-- Arrays, maps and rows: `=`, `<>`, IS DISTINCT FROM, and CAST among them. Parts that are NULL are equal parts, and only
-- an operand that is NULL makes the result NULL. Answers follow Flink's `ArrayTypeTest`, `MapTypeTest`, `RowTypeTest` and
-- its documentation of CAST.
CREATE TABLE Lists (id INT, a ARRAY<INT>, b ARRAY<INT>);

--- input Lists
1,1;2,1;2
2,1;2,2;1
3,1,1;1
4,NULL,1

--- query arrays are equal if their items are
SELECT id, a = b, a <> b, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b FROM Lists;

--- rows
1,TRUE,FALSE,FALSE,TRUE
2,FALSE,TRUE,TRUE,FALSE
3,FALSE,TRUE,TRUE,FALSE
4,NULL,NULL,TRUE,FALSE

--- query items that are NULL are equal
SELECT ARRAY[1, CAST(NULL AS INT)] = ARRAY[1, CAST(NULL AS INT)], ARRAY[CAST(NULL AS INT)] = ARRAY[1]
FROM Lists WHERE id = 1;

--- rows
TRUE,FALSE

--- query arrays of types with a common one
SELECT ARRAY[1, 2] = ARRAY[1.0, 2.0], a = ARRAY[CAST(1 AS BIGINT), 2], ARRAY['a'] = ARRAY['a ']
FROM Lists WHERE id = 1;

--- rows
TRUE,TRUE,FALSE

--- query arrays of arrays, and of floats
SELECT ARRAY[ARRAY[1], ARRAY[2, 3]] = ARRAY[ARRAY[1], ARRAY[2, 3]], ARRAY[CAST(0 AS DOUBLE)] = ARRAY[-CAST(0 AS DOUBLE)],
  ARRAY[CAST('NaN' AS DOUBLE)] = ARRAY[CAST('NaN' AS DOUBLE)]
FROM Lists WHERE id = 1;

--- rows
TRUE,TRUE,FALSE

--- query maps are equal in any order
SELECT MAP['a', 1, 'b', 2] = MAP['b', 2, 'a', 1], MAP['a', 1] = MAP['a', 2], MAP['a', 1] <> MAP['b', 1],
  MAP['a', 1] = MAP['a', 1, 'b', 1]
FROM Lists WHERE id = 1;

--- rows
TRUE,FALSE,TRUE,FALSE

--- query rows are equal if their fields are
SELECT ROW(1, 'a') = ROW(1, 'a'), ROW(1, 'a') <> ROW(1, 'b'), ROW(id, a) = ROW(1, b) FROM Lists WHERE id = 1;

--- rows
TRUE,TRUE,TRUE

--- query arrays as a condition and in IN
SELECT id FROM Lists WHERE a = ARRAY[1, 2] AND b IN (ARRAY[2, 1], ARRAY[3]);

--- rows
2

--- query arrays have no order
SELECT a < b FROM Lists;

--- error TYPE_MISMATCH
they are not compared

--- query an array is no map
SELECT a = MAP[1, 2] FROM Lists;

--- error TYPE_MISMATCH
they are not compared

--- query a cast of a row gives its fields names and types
SELECT CAST(ROW(id, 'x') AS ROW<n BIGINT, s STRING>), CAST(ROW(id, '7') AS ROW(n STRING, i INT)).i + 1 FROM Lists WHERE id < 3;

--- rows
"(1, x)",8
"(2, x)",8

--- query casts of arrays and maps
SELECT CAST(a AS ARRAY<STRING>), CAST(a AS STRING ARRAY)[1] || '!', CAST(MAP['1', 2] AS MAP<INT, STRING>)[1] FROM Lists WHERE id = 1;

--- rows
"[1, 2]",1!,2

--- query casts to nested types of nested types
SELECT CAST(ARRAY[ROW(1, 'a')] AS ARRAY<ROW<`k` INT, v VARCHAR(3)>>)[1].v, TYPEOF(CAST(NULL AS MAP<STRING, ARRAY<INT>>)) FROM Lists WHERE id = 1;

--- rows
a,"MAP<STRING, ARRAY<INT>>"

--- query a row has as many fields as its type
SELECT CAST(ROW(1, 2) AS ROW<a INT>) FROM Lists;

--- error TYPE_MISMATCH
cannot be cast

--- query instants are a type of CAST by their long name
SELECT TYPEOF(CAST(TIMESTAMP '2024-01-01 00:00:00' AS TIMESTAMP(3) WITH LOCAL TIME ZONE)) FROM Lists WHERE id = 1;

--- rows
TIMESTAMP_LTZ(3) NOT NULL

--- query a type that there is not
SELECT CAST(id AS FOO) FROM Lists;

--- error UNSUPPORTED
there is no type FOO

--- query a field of a row by its name as text
SELECT CAST(ROW(id, 'x') AS ROW<n INT, s STRING>)['s'] FROM Lists WHERE id = 1;

--- rows
x
