-- FLOAT and DOUBLE: how they are written, NaN, infinities, negative zero, widening, functions.
-- Where a FLOAT stands left of a DOUBLE, Flink 2.3 makes a FLOAT of both; this is not documented, and not tested here.
CREATE TABLE Readings (id INT, d DOUBLE, f FLOAT, i INT);

--- input Readings
1,1.5,1.5,2
2,-0.0,-0.0,0
3,1e300,3e38,1000000
4,NaN,NaN,1
5,Infinity,-Infinity,-1
6,0.1,0.1,3
7,NULL,NULL,NULL
8,1.0E-5,12345678,-7

--- query doubles and floats are written as Java does
SELECT id, d, f FROM Readings;

--- rows
1,1.5,1.5
2,-0.0,-0.0
3,1.0E300,3.0E38
4,NaN,NaN
5,Infinity,-Infinity
6,0.1,0.1
7,NULL,NULL
8,1.0E-5,1.2345678E7

--- query from ten million on, and below a thousandth, with an exponent
SELECT id, CAST(i AS DOUBLE) * 1000, CAST(i AS DOUBLE) / 1000, CAST(i AS DOUBLE) / 100000 FROM Readings WHERE id IN (1, 3, 6);

--- rows
1,2000.0,0.002,2.0E-5
3,1.0E9,1000.0,10.0
6,3000.0,0.003,3.0E-5

--- query arithmetic of doubles overflows to infinity and divides by zero without failing
SELECT id, d * 1e10, d / 0e0, d - d FROM Readings WHERE id <> 7;

--- rows
1,1.5E10,Infinity,0.0
2,-0.0,NaN,0.0
3,Infinity,Infinity,0.0
4,NaN,NaN,NaN
5,Infinity,Infinity,NaN
6,1.0E9,Infinity,0.0
8,100000.00000000001,Infinity,0.0

--- query NaN compares as in IEEE 754: equal to nothing, less and greater than nothing
SELECT id, d = CAST(f AS DOUBLE), d <> CAST(f AS DOUBLE), d < 2, d >= 2, d > CAST(f AS DOUBLE) FROM Readings WHERE id IN (1, 4, 5);

--- rows
1,TRUE,FALSE,TRUE,FALSE,FALSE
4,FALSE,TRUE,FALSE,FALSE,FALSE
5,FALSE,TRUE,FALSE,TRUE,TRUE

--- query negative zero equals zero
SELECT id FROM Readings WHERE d = 0;

--- rows
2

--- query a FLOAT beside an INT stays FLOAT, a DOUBLE beside a FLOAT makes DOUBLE
SELECT id, f + i, d + f, f * 2 FROM Readings WHERE id IN (1, 6);

--- rows
1,3.5,3.0,3.0
6,3.1,0.20000000149011612,0.2

--- query float arithmetic is that of 32 bits
SELECT id, f + CAST(1 AS FLOAT), f / CAST(3 AS FLOAT) FROM Readings WHERE id IN (1, 6);

--- rows
1,2.5,0.5
6,1.1,0.033333335

--- query doubles are not decimals
SELECT id, d + 2e-1, d * 3 FROM Readings WHERE id = 6;

--- rows
6,0.30000000000000004,0.30000000000000004

--- query FLOOR, CEIL, ABS, SIGN, ROUND
SELECT id, FLOOR(d), CEIL(d), ABS(d), SIGN(d), ROUND(d, 1) FROM Readings WHERE id IN (1, 6, 7);

--- rows
1,1.0,2.0,1.5,1.0,1.5
6,0.0,1.0,0.1,1.0,0.1
7,NULL,NULL,NULL,NULL,NULL

--- query SQRT, POWER, EXP of exact cases, LN and LOG of bases
SELECT id, SQRT(i), POWER(i, 2), POWER(2, i), EXP(0), LN(1), LOG10(1000), LOG2(8) FROM Readings WHERE id IN (1, 5, 6);

--- rows
1,1.4142135623730951,4.0,4.0,1.0,0.0,3.0,3.0
5,NaN,1.0,0.5,1.0,0.0,3.0,3.0
6,1.7320508075688772,9.0,8.0,1.0,0.0,3.0,3.0

--- query literals with an exponent are doubles
SELECT id, 1e0, 1.5E3, 1e-3, -2e0 FROM Readings WHERE id = 1;

--- rows
1,1.0,1500.0,0.001,-2.0
