-- IF, COALESCE and IFNULL compute only the argument that a row takes; notations of text; small forms of expressions.
-- Answers follow Flink's documentation, "System (Built-in) Functions", and Calcite's grammar for literals.
CREATE TABLE Parts (id INT, n INT, d INT, s STRING);

--- input Parts
1,6,2,7
2,5,0,x
3,NULL,1,NULL
4,8,NULL,8

--- query IF divides only where it takes the quotient
SELECT id, IF(d = 0, -1, n / d) FROM Parts;

--- rows
1,3
2,-1
3,NULL
4,NULL

--- query IF with an unknown condition takes the last argument
SELECT id, IF(d > 0, 10 / d, 100 / (id - 1)) FROM Parts WHERE id <> 2;

--- rows
1,5
3,10
4,33

--- query a branch that is taken still fails
SELECT IF(d = 0, n / d, 0) FROM Parts;

--- error DIVISION_BY_ZERO
division by zero

--- query COALESCE computes until a value is known
SELECT id, COALESCE(n, 12 / d) FROM Parts;

--- rows
1,6
2,5
3,12
4,8

--- query IFNULL computes its second argument where the first is NULL
SELECT id, IFNULL(d, 100 / id) FROM Parts;

--- rows
1,2
2,0
3,1
4,25

--- query casts that fail are left out too
SELECT id, IF(s <> 'x', CAST(s AS INT), 0), COALESCE(TRY_CAST(s AS INT), CAST('5' AS INT)) FROM Parts;

--- rows
1,7,7
2,0,5
3,0,5
4,8,8

--- query a COALESCE of three, the second of which is NULL here and there
SELECT id, COALESCE(n, CAST(s AS INT), -1) FROM Parts;

--- rows
1,6
2,5
3,-1
4,8

--- query literals choose at once
SELECT IF(TRUE, 1, 1 / 0), COALESCE(1, 1 / 0), IFNULL(2, 1 / 0) FROM Parts WHERE id = 1;

--- rows
1,1,2

--- query values of different types have a common one
SELECT id, IF(id = 1, 1, 2.5), COALESCE(n, 1.5) FROM Parts WHERE id <= 3;

--- rows
1,1.0,6.0
2,2.5,5.0
3,2.5,1.5

--- query texts with escapes
SELECT E'a\tb\x41\u00e4', E'it''s' FROM Parts WHERE id = 1;

--- rows
a	bAä,it's

--- query texts of code points with an escape of their own
SELECT U&'d\0061t\+' FROM Parts WHERE id = 1;

--- error SYNTAX
\ stands before four hexadecimal digits of a character

--- query texts of code points
SELECT U&'d\0061ta', U&'d!0061t!!a' UESCAPE '!', U&'\\', CHAR_LENGTH(u&'\d83d\de00') FROM Parts WHERE id = 1;

--- rows
data,dat!a,\,1

--- query texts with a character set
SELECT _UTF8'ä', _utf16'b' FROM Parts WHERE id = 1;

--- rows
ä,b

--- query a character set that is not known
SELECT _FOO'a' FROM Parts;

--- error SYNTAX
_FOO is no character set here

--- query TRIM of a side without characters
SELECT TRIM(BOTH FROM '  a '), TRIM(LEADING FROM '  a '), TRIM(TRAILING FROM '  a ') || '.' FROM Parts WHERE id = 1;

--- rows
a,a ,  a.

--- query TRIM with a comma is no SQL of Flink
SELECT TRIM('xax', 'x') FROM Parts;

--- error UNSUPPORTED
TRIM(text, characters) is not supported

--- query casts by two colons are no SQL of Flink
SELECT id::STRING FROM Parts;

--- error UNSUPPORTED
`::` is not supported

--- query words of SQL in backticks are functions
SELECT `LEFT`('abc', 2), `RIGHT`('abc', 1) FROM Parts WHERE id = 1;

--- rows
ab,c

--- query types of values
SELECT TYPEOF(id), TYPEOF('abc'), TYPEOF(NULL), TYPEOF(CAST(1 AS DECIMAL(5, 2))), TYPEOF(s), TYPEOF(s, TRUE)
FROM Parts WHERE id = 1;

--- rows
INT,CHAR(3) NOT NULL,"NULL","DECIMAL(5, 2) NOT NULL",STRING,VARCHAR(2147483647)

--- query the type needs a literal beside it
SELECT TYPEOF(id, id > 1) FROM Parts;

--- error TYPE_MISMATCH
argument 2 is neither TRUE nor FALSE

--- query the current database
SELECT CURRENT_DATABASE() FROM Parts WHERE id = 1;

--- rows
default_database

--- set 'table.exec.state.ttl' = '1 d'

--- query GROUPING without grouping sets leaves no key out
SELECT id, GROUPING(id), COUNT(*) FROM Parts WHERE id <= 2 GROUP BY id;

--- changelog
+I,1,0,1
+I,2,0,1

--- query NULLs are respected by all aggregates
SELECT ARRAY_AGG(n) RESPECT NULLS FROM Parts WHERE id IN (1, 3);

--- changelog
+I,[6]
-U,[6]
+U,"[6, NULL]"

--- query no row exists behind LIMIT 0
SELECT id FROM Parts WHERE NOT EXISTS (SELECT n FROM Parts LIMIT 0) AND id < 3;

--- changelog
+I,1
+I,2
