-- OVER in batch mode: frames that look ahead, bounded frames by any column, and functions that need all rows of a key.
-- Answers: by hand. Source: Flink's documentation, "Over Aggregation"; Flink's tests of its batch mode, `OverAggregateITCase`.
CREATE TABLE Sales (
  id INT, k STRING, v INT, price DECIMAL(8, 2), w DOUBLE, d DATE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts
);

--- set 'execution.runtime-mode' = 'batch'

--- input Sales
1,a,30,1.50,0.5,2024-06-03,2024-06-01 12:00:00.000
2,a,10,2.50,1.0,2024-06-01,2024-06-01 12:00:30.000
3,b,5,1.00,1.5,2024-06-02,2024-06-01 12:00:20.000
4,a,20,0.50,2.5,2024-06-02,2024-06-01 12:01:00.000
5,a,12,4.00,4.0,2024-06-09,2024-06-01 11:59:00.000
6,b,NULL,2.00,NULL,NULL,2024-06-01 12:02:00.000
7,b,6,3.00,1.0,2024-06-01,2024-06-01 12:00:21.000
8,b,NULL,7.00,9.0,2024-06-08,2024-06-01 12:00:22.000

--- query ROWS with one row before and one behind
SELECT id, SUM(price) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM Sales;

--- rows
1,4.00
2,4.50
4,7.00
5,4.50
3,3.00
6,6.00
7,12.00
8,10.00

--- query all rows of the key, with an order and without
SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS n, SUM(v) OVER (PARTITION BY k) AS s FROM Sales;

--- rows
1,4,72
2,4,72
4,4,72
5,4,72
3,4,11
6,4,11
7,4,11
8,4,11

--- query rows behind alone
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS s, COUNT(*) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS n FROM Sales;

--- rows
1,42,2
2,32,1
4,12,0
5,NULL,0
3,6,2
6,6,1
7,NULL,0
8,NULL,0

--- query rows before alone
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS s FROM Sales;

--- rows
1,NULL
2,30
4,40
5,30
3,NULL
6,5
7,5
8,6

--- query RANGE by a whole number, with NULL
SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 10 PRECEDING AND 2 FOLLOWING) AS n, SUM(v) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 10 PRECEDING AND 2 FOLLOWING) AS s FROM Sales;

--- rows
1,2,50
2,2,22
4,3,42
5,2,22
3,2,11
7,2,11
6,2,NULL
8,2,NULL

--- query RANGE descending
SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY v DESC RANGE BETWEEN CURRENT ROW AND 10 FOLLOWING) AS n FROM Sales;

--- rows
1,2
4,3
5,2
2,1
7,2
3,1
6,2
8,2

--- query RANGE by a decimal and by a float
SELECT id, COUNT(*) OVER (ORDER BY price RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS p, COUNT(*) OVER (ORDER BY w RANGE BETWEEN CURRENT ROW AND 1.5 FOLLOWING) AS w FROM Sales;

--- rows
4,1,2
3,2,2
1,3,4
6,3,1
2,3,4
7,3,4
5,2,1
8,1,1

--- query RANGE by days
SELECT id, COUNT(*) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '1' DAY FOLLOWING) AS n FROM Sales WHERE d IS NOT NULL;

--- rows
2,4
7,4
3,5
4,5
1,3
8,2
5,2

--- query RANGE by time that looks ahead
SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '30' SECOND FOLLOWING) AS n FROM Sales;

--- rows
5,1
1,2
2,2
4,1
3,3
7,2
8,1
6,1

--- query RANGE by time before it, descending
SELECT id, COUNT(*) OVER (PARTITION BY k ORDER BY ts DESC RANGE BETWEEN INTERVAL '30' SECOND PRECEDING AND CURRENT ROW) AS n FROM Sales;

--- rows
4,1
2,2
1,2
5,1
6,1
8,1
7,2
3,3

--- query functions that need all rows
SELECT id, PERCENT_RANK() OVER w AS p, CUME_DIST() OVER w AS c, NTILE(3) OVER w AS t FROM Sales WINDOW w AS (PARTITION BY k ORDER BY v, id);

--- rows
2,0.0,0.25,1
5,0.3333333333333333,0.5,1
4,0.6666666666666666,0.75,2
1,1.0,1.0,3
6,0.0,0.25,1
8,0.3333333333333333,0.5,1
3,0.6666666666666666,0.75,2
7,1.0,1.0,3

--- query values of other rows
SELECT id, LEAD(v) OVER w AS l1, LEAD(v, 2, -1) OVER w AS l2, LAG(v, 1, 0) OVER w AS p FROM Sales WINDOW w AS (PARTITION BY k ORDER BY id);

--- rows
1,10,20,0
2,20,12,30
4,12,-1,10
5,NULL,-1,20
3,NULL,6,0
6,6,NULL,5
7,NULL,-1,NULL
8,NULL,-1,6

--- query the first and the last value of a frame
SELECT id, FIRST_VALUE(price) OVER w AS f, LAST_VALUE(price) OVER w AS l FROM Sales WINDOW w AS (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING);

--- rows
1,1.50,2.50
2,1.50,0.50
4,2.50,4.00
5,0.50,4.00
3,1.00,2.00
6,1.00,3.00
7,2.00,7.00
8,3.00,7.00

--- query ranks
SELECT id, RANK() OVER w AS r, DENSE_RANK() OVER w AS d FROM Sales WINDOW w AS (ORDER BY k DESC);

--- rows
3,1,1
6,1,1
7,1,1
8,1,1
1,5,2
2,5,2
4,5,2
5,5,2

--- query the first rows by RANK
SELECT id, k, rk FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS rk FROM Sales) WHERE rk <= 2;

--- rows
1,a,1
4,a,2
7,b,1
3,b,2

--- query a number for each row, and a sum over an aggregate
SELECT k, n, SUM(n) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s, ROW_NUMBER() OVER (ORDER BY k) AS rn FROM (SELECT k, COUNT(v) AS n FROM Sales GROUP BY k);

--- rows
a,4,6,1
b,2,2,2

--- query an aggregate over the results
SELECT rk, COUNT(*) AS n FROM (SELECT RANK() OVER (PARTITION BY k ORDER BY v) AS rk FROM Sales) GROUP BY rk ORDER BY rk;

--- rows ordered
1,3
2,1
3,2
4,2

--- query LAG of no literal is refused
SELECT LAG(v, id) OVER (ORDER BY v) FROM Sales;

--- error TYPE_MISMATCH
LAG goes back by a number of rows

--- query RANGE with a distance takes one column
SELECT SUM(v) OVER (ORDER BY v, id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM Sales;

--- error INVALID
takes one column in ORDER BY

--- query RANGE of a number goes by a number
SELECT SUM(v) OVER (ORDER BY v RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM Sales;

--- error TYPE_MISMATCH
goes by a number of that type
