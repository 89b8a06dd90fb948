-- OVER in the order of columns that are no time: results change when a row comes before others, or goes. Rows may change.
-- Answers: by hand. Source: Flink's documentation, "Over Aggregation"; `NonTimeRowsUnboundedPrecedingFunction`,
-- `NonTimeRangeUnboundedPrecedingFunction`. Queries "(not as Flink)" are refused there in streams: orders of several columns,
-- descending, or none; ranks by RANK and DENSE_RANK. Of a rank below a column Flink takes the first row of each key.
CREATE TABLE Sales (
  id INT, k STRING, v INT, price DECIMAL(8, 2), n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
);
CREATE TABLE Stock (
  id INT, k STRING, v INT, PRIMARY KEY (id) NOT ENFORCED
) WITH ('format' = 'debezium-json');

--- set 'table.exec.state.ttl' = '1 d'

--- input Sales
1,a,30,1.50,1,2024-06-01 12:00:00.000
2,a,10,2.50,1,2024-06-01 12:00:01.000
3,b,5,1.00,3,2024-06-01 12:00:02.000
4,a,20,0.50,1,2024-06-01 12:00:03.000
5,a,10,4.00,1,2024-06-01 12:00:04.000
6,b,NULL,2.00,3,2024-06-01 12:00:05.000
7,b,5,3.00,3,2024-06-01 12:00:06.000
8,NULL,1,9.00,2,2024-06-01 12:00:07.000

--- input Stock
+I,1,a,30
+I,2,a,10
+I,3,b,5
-U,1,a,30
+U,1,a,5
+I,4,b,7
-D,3,b,5
+I,5,a,10

--- query RANGE: rows with the same value see each other
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v) AS total, COUNT(*) OVER (PARTITION BY k ORDER BY v) AS n FROM Sales;

--- changelog
+I,1,70,4
+I,2,20,2
+I,5,20,2
+I,4,40,3
+I,6,NULL,1
+I,3,10,3
+I,7,10,3
+I,8,1,1

--- query ROWS: rows with the same value in the order in which they came
SELECT id, SUM(price) OVER w AS total, COUNT(v) OVER w AS n FROM Sales
WINDOW w AS (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

--- changelog
+I,1,8.50,4
+I,2,2.50,1
+I,5,6.50,2
+I,4,7.00,3
+I,6,2.00,0
+I,3,3.00,1
+I,7,6.00,2
+I,8,9.00,1

--- query all keys together, by text
SELECT id, MAX(v) OVER (ORDER BY k RANGE UNBOUNDED PRECEDING) AS most FROM Sales;

--- changelog
+I,8,1
+I,1,30
+I,2,30
+I,4,30
+I,5,30
+I,3,30
+I,6,30
+I,7,30

--- query the number of a row by a column
SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price) AS rn FROM Sales;

--- changelog
+I,4,1
+I,1,2
+I,2,3
+I,5,4
+I,3,1
+I,6,2
+I,7,3
+I,8,1

--- query rows that change
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v) AS total FROM Stock;

--- changelog
+I,1,5
+I,2,25
+I,5,25
+I,4,7

--- query over an aggregate
SELECT k, n, SUM(n) OVER (ORDER BY n) AS total FROM (SELECT k, COUNT(*) AS n FROM Sales GROUP BY k);

--- changelog
+I,NULL,1,1
+I,b,3,4
+I,a,4,8

--- query distinct values
SELECT id, COUNT(DISTINCT v) OVER (PARTITION BY k ORDER BY id) AS n FROM Sales;

--- changelog
+I,1,1
+I,2,2
+I,4,3
+I,5,3
+I,3,1
+I,6,1
+I,7,1
+I,8,1

--- query a descending order (not as Flink)
SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v DESC) AS total FROM Sales;

--- changelog
+I,1,30
+I,4,50
+I,2,70
+I,5,70
+I,3,10
+I,7,10
+I,6,10
+I,8,1

--- query several columns (not as Flink)
SELECT id, SUM(price) OVER (PARTITION BY k ORDER BY v, price DESC) AS total FROM Sales;

--- changelog
+I,5,4.00
+I,2,6.50
+I,4,7.00
+I,1,8.50
+I,6,2.00
+I,7,5.00
+I,3,6.00
+I,8,9.00

--- query no order: all rows of the key (not as Flink)
SELECT id, SUM(v) OVER (PARTITION BY k) AS total FROM Sales WHERE k IS NOT NULL;

--- changelog
+I,1,70
+I,2,70
+I,4,70
+I,5,70
+I,3,10
+I,6,10
+I,7,10

--- query several windows (not as Flink)
SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price) AS rn, COUNT(*) OVER (ORDER BY id) AS n FROM Sales;

--- changelog
+I,1,2,1
+I,2,3,2
+I,3,1,3
+I,4,1,4
+I,5,4,5
+I,6,2,6
+I,7,3,7
+I,8,1,8

--- query ranks with gaps and without (not as Flink)
SELECT id, RANK() OVER w AS r, DENSE_RANK() OVER w AS d, LAG(v, 1, -1) OVER w AS p FROM Sales
WINDOW w AS (PARTITION BY k ORDER BY v DESC);

--- changelog
+I,1,1,1,-1
+I,4,2,2,30
+I,2,3,3,20
+I,5,3,3,10
+I,3,1,1,-1
+I,7,1,1,5
+I,6,3,2,5
+I,8,1,1,-1

--- query the first rows by RANK (not as Flink)
SELECT id, k, rk FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS rk FROM Sales) WHERE rk <= 2;

--- changelog
+I,2,a,1
+I,5,a,1
+I,6,b,1
+I,3,b,2
+I,7,b,2
+I,8,NULL,1

--- query the first rows by DENSE_RANK of rows that change (not as Flink)
SELECT id, k FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY k ORDER BY v DESC) AS rk FROM Stock) WHERE rk = 1;

--- changelog
+I,2,a
+I,5,a
+I,4,b

--- query as many rows as a column says
SELECT id, k, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price DESC) AS rn FROM Sales) WHERE rn <= n;

--- changelog
+I,5,a,1
+I,7,b,1
+I,6,b,2
+I,3,b,3
+I,8,NULL,1

--- query as many rows as a column says, and no more than two
SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price DESC) AS rn FROM Sales) WHERE rn <= n AND rn <= 2;

--- changelog
+I,5,a
+I,7,b
+I,6,b
+I,8,NULL

--- query over an aggregate, by a time of it
SELECT k, s, COUNT(*) OVER (ORDER BY ts) AS c FROM (SELECT k, SUM(v) AS s, MAX(ts) AS ts FROM Sales WHERE k IS NOT NULL GROUP BY k);

--- changelog
+I,a,70,1
+I,b,10,2

--- query a frame that looks ahead is refused in streams
SELECT SUM(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM Sales;

--- error UNSUPPORTED
needs rows that have not come yet

--- query a bounded frame is refused in streams
SELECT SUM(v) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM Sales;

--- error UNSUPPORTED
goes by ascending event time in streams

--- query LEAD is refused in streams
SELECT LEAD(v) OVER (ORDER BY v) FROM Sales;

--- error UNSUPPORTED
LEAD needs rows that have not come yet

--- query a frame that ends before it begins
SELECT SUM(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM Sales;

--- error INVALID
ends before it begins
