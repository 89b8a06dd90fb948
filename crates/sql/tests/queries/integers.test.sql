-- Whole numbers: types of results, wrapping as in Java, division and remainder towards zero, division by zero.
CREATE TABLE Numbers (id INT, t TINYINT, s SMALLINT, i INT, b BIGINT);

--- input Numbers
1,127,32767,2147483647,9223372036854775807
2,-128,-32768,-2147483648,-9223372036854775808
3,7,7,7,7
4,-7,-7,-7,-7
5,0,0,0,0
6,NULL,NULL,NULL,NULL

--- query INT wraps
SELECT id, i + 1, i - 1, i * 2, -i FROM Numbers;

--- rows
1,-2147483648,2147483646,-2,-2147483647
2,-2147483647,2147483647,0,-2147483648
3,8,6,14,-7
4,-6,-8,-14,7
5,1,-1,0,0
6,NULL,NULL,NULL,NULL

--- query BIGINT wraps
SELECT id, b + 1, b - 1, b * 2, -b FROM Numbers;

--- rows
1,-9223372036854775808,9223372036854775806,-2,-9223372036854775807
2,-9223372036854775807,9223372036854775807,0,-9223372036854775808
3,8,6,14,-7
4,-6,-8,-14,7
5,1,-1,0,0
6,NULL,NULL,NULL,NULL

--- query a BIGINT beside an INT makes BIGINT
SELECT id, i + CAST(1 AS BIGINT), i * i, CAST(i AS BIGINT) * i FROM Numbers WHERE id <= 2;

--- rows
1,2147483648,1,4611686014132420609
2,-2147483647,0,4611686018427387904

--- query division of whole numbers drops the fraction
SELECT id, i / 2, b / 2, i / -2, 7 / 2, -7 / 2 FROM Numbers WHERE id IN (1, 3, 4, 5);

--- rows
1,1073741823,4611686018427387903,-1073741823,3,-3
3,3,3,-3,3,-3
4,-3,-3,3,3,-3
5,0,0,0,3,-3

--- query the least number by minus one is itself
SELECT id, i / -1, b / -1 FROM Numbers WHERE id = 2;

--- rows
2,-2147483648,-9223372036854775808

--- query the remainder has the sign of the dividend
SELECT id, MOD(i, 4), i % 4, MOD(i, -4), MOD(b, 10) FROM Numbers WHERE id <> 6;

--- rows
1,3,3,3,7
2,0,0,0,-8
3,3,3,3,7
4,-3,-3,-3,-7
5,0,0,0,0

--- query division by zero
SELECT id, i / 0 * id FROM Numbers WHERE id = 3;

--- error DIVISION_BY_ZERO
division by zero

--- query division by a column that is zero
SELECT id, 100 / i FROM Numbers;

--- error DIVISION_BY_ZERO
100 / i: division by zero

--- query remainder by a column that is zero
SELECT id, MOD(100, i) FROM Numbers;

--- error DIVISION_BY_ZERO
division by zero

--- query NULL by zero is NULL, not an error
SELECT id, i / CAST(0 AS INT) FROM Numbers WHERE id = 6;

--- rows
6,NULL

--- query ABS, SIGN, FLOOR, CEIL keep the type, and ABS of the least wraps
SELECT id, ABS(i), SIGN(i), FLOOR(i), CEIL(i), ABS(b) FROM Numbers;

--- rows
1,2147483647,1,2147483647,2147483647,9223372036854775807
2,-2147483648,-1,-2147483648,-2147483648,-9223372036854775808
3,7,1,7,7,7
4,7,-1,-7,-7,7
5,0,0,0,0,0
6,NULL,NULL,NULL,NULL,NULL

--- query comparisons across widths
SELECT id, t = s, s < i, i < b, t >= b FROM Numbers;

--- rows
1,FALSE,TRUE,TRUE,FALSE
2,FALSE,FALSE,FALSE,TRUE
3,TRUE,FALSE,FALSE,TRUE
4,TRUE,FALSE,FALSE,TRUE
5,TRUE,FALSE,FALSE,TRUE
6,NULL,NULL,NULL,NULL

--- query a literal that fits no INT is a BIGINT
SELECT id, i + 2147483648, 2147483647 + i FROM Numbers WHERE id IN (1, 3);

--- rows
1,4294967295,-2
3,2147483655,-2147483642
