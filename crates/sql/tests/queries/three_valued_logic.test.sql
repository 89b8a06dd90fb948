-- Three-valued logic: AND, OR, NOT, IS, comparisons and membership where something is unknown, and functions made for NULL.
CREATE TABLE Pairs (id INT, a BOOLEAN, b BOOLEAN, x INT, y INT, s STRING);

--- input Pairs
1,true,true,1,1,a
2,true,false,1,2,b
3,true,NULL,1,NULL,NULL
4,false,true,2,1,""
5,false,false,0,0,a
6,false,NULL,0,NULL,b
7,NULL,true,NULL,1,NULL
8,NULL,false,NULL,2,""
9,NULL,NULL,NULL,NULL,NULL

--- query AND, OR, NOT
SELECT id, a AND b, a OR b, NOT a FROM Pairs;

--- rows
1,TRUE,TRUE,FALSE
2,FALSE,TRUE,FALSE
3,NULL,TRUE,FALSE
4,FALSE,TRUE,TRUE
5,FALSE,FALSE,TRUE
6,FALSE,NULL,TRUE
7,NULL,TRUE,NULL
8,FALSE,NULL,NULL
9,NULL,NULL,NULL

--- query IS TRUE, FALSE, UNKNOWN and their negations are never unknown
SELECT id, a IS TRUE, a IS NOT TRUE, a IS FALSE, a IS NOT FALSE, a IS UNKNOWN, a IS NOT UNKNOWN
FROM Pairs WHERE id IN (1, 4, 7);

--- rows
1,TRUE,FALSE,FALSE,TRUE,FALSE,TRUE
4,FALSE,TRUE,TRUE,FALSE,FALSE,TRUE
7,FALSE,TRUE,FALSE,TRUE,TRUE,FALSE

--- query comparisons with NULL are unknown
SELECT id, x = y, x <> y, x < y, x >= y FROM Pairs;

--- rows
1,TRUE,FALSE,FALSE,TRUE
2,FALSE,TRUE,TRUE,FALSE
3,NULL,NULL,NULL,NULL
4,FALSE,TRUE,FALSE,TRUE
5,TRUE,FALSE,FALSE,TRUE
6,NULL,NULL,NULL,NULL
7,NULL,NULL,NULL,NULL
8,NULL,NULL,NULL,NULL
9,NULL,NULL,NULL,NULL

--- query IS DISTINCT FROM takes NULLs for equal
SELECT id, x IS DISTINCT FROM y, x IS NOT DISTINCT FROM y FROM Pairs WHERE id IN (1, 2, 3, 7, 9);

--- rows
1,FALSE,TRUE
2,TRUE,FALSE
3,TRUE,FALSE
7,TRUE,FALSE
9,FALSE,TRUE

--- query WHERE keeps what is true, not what is unknown
SELECT id FROM Pairs WHERE x = y OR x <> y;

--- rows
1
2
4
5

--- query IS NULL and IS NOT NULL
SELECT id FROM Pairs WHERE x IS NULL AND s IS NOT NULL;

--- rows
8

--- query membership in a list that holds NULL is true or unknown
SELECT id, x IN (1, CAST(NULL AS INT)), x NOT IN (1, CAST(NULL AS INT)) FROM Pairs WHERE id IN (1, 4, 7);

--- rows
1,TRUE,FALSE
4,NULL,NULL
7,NULL,NULL

--- query NOT IN a list that holds NULL lets nothing through
SELECT id FROM Pairs WHERE x NOT IN (5, CAST(NULL AS INT));

--- rows

--- query arithmetic and concatenation with NULL are NULL
SELECT id, x + y, x * y, -y, s || 'z', ABS(y) FROM Pairs WHERE id IN (2, 3, 7, 8, 9);

--- rows
2,3,2,-2,bz,2
3,NULL,NULL,NULL,NULL,NULL
7,NULL,NULL,-1,NULL,1
8,NULL,NULL,-2,z,2
9,NULL,NULL,NULL,NULL,NULL

--- query COALESCE takes the first that is not NULL
SELECT id, COALESCE(x, y), COALESCE(x, y, -1), COALESCE(s, '?') FROM Pairs WHERE id IN (2, 3, 7, 8, 9);

--- rows
2,1,1,b
3,1,1,?
7,1,1,?
8,2,2,""
9,NULL,-1,?

--- query IFNULL and NULLIF
SELECT id, IFNULL(y, 0), NULLIF(x, y), NULLIF(s, '') FROM Pairs WHERE id IN (1, 2, 3, 8, 9);

--- rows
1,1,NULL,a
2,2,1,b
3,0,1,NULL
8,2,NULL,NULL
9,0,NULL,NULL

--- query GREATEST and LEAST are NULL if any argument is
SELECT id, GREATEST(x, y), LEAST(x, y, 1), GREATEST(x, y) IS NULL FROM Pairs WHERE id IN (2, 3, 4, 9);

--- rows
2,2,1,FALSE
3,NULL,NULL,TRUE
4,2,1,FALSE
9,NULL,NULL,TRUE

--- query a guard before a division: the right side is not computed where the left is false
SELECT id FROM Pairs WHERE y <> 0 AND 10 / y > 5;

--- rows
1
4
7

--- query a guard of OR
SELECT id FROM Pairs WHERE y = 0 OR 10 / y = 5;

--- rows
2
5
8
