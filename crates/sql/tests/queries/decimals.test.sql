-- Decimals: precision and scale of results, rounding half up, overflow to NULL, division, mixed types, functions.
-- Types follow Flink's documentation, "Data Types" and LogicalTypeMerging; sums are checked by reference/decimals.py.
CREATE TABLE Amounts (id INT, a DECIMAL(10, 2), b DECIMAL(5, 3), i INT, wide DECIMAL(38, 0), fine DECIMAL(38, 18));

--- input Amounts
1,1.00,3.000,3,99999999999999999999999999999999999999,0.000000000000000001
2,10.05,0.125,-2,-99999999999999999999999999999999999999,12345678901234567890.123456789012345678
3,-2.50,-1.500,7,1,1.500000000000000000
4,99999999.99,99.999,2147483647,0,-0.500000000000000000
5,NULL,2.000,1,NULL,NULL
6,0.00,-0.001,0,10,3.000000000000000000

--- query a sum has one digit more before the point, and the larger scale
SELECT id, a + b, a - b, b + b FROM Amounts;

--- rows
1,4.000,-2.000,6.000
2,10.175,9.925,0.250
3,-4.000,-1.000,-3.000
4,100000099.989,99999899.991,199.998
5,NULL,NULL,4.000
6,-0.001,0.001,-0.002

--- query a product has the sum of both scales
SELECT id, a * b, b * b, a * 2 FROM Amounts;

--- rows
1,3.00000,9.000000,2.00
2,1.25625,0.015625,20.10
3,3.75000,2.250000,-5.00
4,9999899999.00001,9999.800001,199999999.98
5,NULL,4.000000,NULL
6,0.00000,0.000001,0.00

--- query a quotient has six digits at least, and more for a precise divisor
SELECT id, a / b, b / a FROM Amounts WHERE id IN (1, 2, 3);

--- rows
1,0.33333333,3.00000000000000
2,80.40000000,0.01243781094527
3,1.66666667,0.60000000000000

--- query quotients are rounded half up, away from zero
SELECT id, CAST(2 AS DECIMAL(1, 0)) / CAST(3 AS DECIMAL(1, 0)), CAST(-2 AS DECIMAL(1, 0)) / CAST(i AS DECIMAL(10, 0))
FROM Amounts WHERE id IN (1, 3);

--- rows
1,0.666667,-0.66666666667
3,0.666667,-0.28571428571

--- query a decimal by zero fails
SELECT id, b / a FROM Amounts WHERE id = 6;

--- error DIVISION_BY_ZERO
division by zero

--- query with whole numbers, which count as decimals of their longest
SELECT id, a + i, a * i, i - b FROM Amounts WHERE id <> 4;

--- rows
1,4.00,3.00,0.000
2,8.05,-20.10,-2.125
3,4.50,-17.50,8.500
5,NULL,NULL,-1.000
6,0.00,0.00,0.001

--- query with doubles the result is a double
SELECT id, a + CAST(0.5 AS DOUBLE), b * CAST(2 AS DOUBLE) FROM Amounts WHERE id <= 3;

--- rows
1,1.5,6.0
2,10.55,0.25
3,-2.0,-3.0

--- query what does not fit 38 digits is NULL
SELECT id, wide + 1, wide * 10, wide + wide FROM Amounts;

--- rows
1,NULL,NULL,NULL
2,-99999999999999999999999999999999999998,NULL,NULL
3,2,10,2
4,1,0,0
5,NULL,NULL,NULL
6,11,100,20

--- query scales shrink to keep digits before the point
SELECT id, fine * fine, fine + wide FROM Amounts WHERE id IN (3, 4, 6);

--- rows
3,2.250000,2.500000
4,0.250000,-0.500000
6,9.000000,13.000000

--- query casts round half up and are NULL if they do not fit
SELECT id, CAST(b AS DECIMAL(5, 2)), CAST(a AS DECIMAL(10, 1)), CAST(a AS DECIMAL(3, 2)), CAST(a AS DECIMAL(12, 4)) FROM Amounts;

--- rows
1,3.00,1.0,1.00,1.0000
2,0.13,10.1,NULL,10.0500
3,-1.50,-2.5,-2.50,-2.5000
4,100.00,100000000.0,NULL,99999999.9900
5,2.00,NULL,NULL,NULL
6,0.00,0.0,0.00,0.0000

--- query ROUND, FLOOR, CEIL, ABS, SIGN, TRUNCATE
SELECT id, ROUND(b, 1), ROUND(b, 0), FLOOR(b), CEIL(b), ABS(b), SIGN(b), TRUNCATE(b, 1) FROM Amounts;

--- rows
1,3.0,3,3,3,3.000,1.000,3.0
2,0.1,0,0,1,0.125,1.000,0.1
3,-1.5,-2,-2,-1,1.500,-1.000,-1.5
4,100.0,100,99,100,99.999,1.000,99.9
5,2.0,2,2,2,2.000,1.000,2.0
6,0.0,0,-1,0,0.001,-1.000,0.0

--- query MOD of decimals
SELECT id, MOD(a, b), a % 3 FROM Amounts WHERE id IN (1, 2, 3);

--- rows
1,1.000,1.00
2,0.050,1.05
3,-1.000,-2.50

--- query comparisons ignore the scale
SELECT id FROM Amounts WHERE a = i OR b = 2 OR a = 10.050;

--- rows
2
5
6

--- query literals have the digits that are written
SELECT id, 1.0 + 1.00, 1.10 * 1.1, 0.1 + 0.2, -1.5 FROM Amounts WHERE id = 1;

--- rows
1,2.00,1.210,0.3,-1.5
