-- Views, sub-queries, common table expressions, VALUES, computed columns.
CREATE TABLE Orders (
  id INT, buyer STRING, amount INT, price DECIMAL(8, 2), at_text STRING,
  total AS amount * price,
  ts AS TO_TIMESTAMP(at_text, 'dd.MM.yyyy HH:mm:ss'),
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
);
CREATE VIEW Bigger AS SELECT id, buyer, total FROM Orders WHERE total >= 10;
CREATE VIEW BiggerOfAnn (order_id, sum_of) AS SELECT id, total FROM Bigger WHERE buyer = 'ann';
CREATE VIEW Stamped AS SELECT id, total AS worth, ts AS happened FROM Orders;

--- input Orders
1,ann,3,1.50,01.02.2024 08:00:00
2,bea,1,12.00,01.02.2024 08:01:00
3,ann,500,0.02,01.02.2024 08:09:59
4,ann,20,5.00,01.02.2024 08:10:00
5,NULL,NULL,1.00,01.02.2024 08:12:00

--- query computed columns
SELECT id, total, ts FROM Orders;

--- rows
1,4.50,2024-02-01 08:00:00.000
2,12.00,2024-02-01 08:01:00.000
3,10.00,2024-02-01 08:09:59.000
4,100.00,2024-02-01 08:10:00.000
5,NULL,2024-02-01 08:12:00.000

--- query a star shows them in their places
SELECT * FROM Orders WHERE id = 2;

--- rows
2,bea,1,12.00,01.02.2024 08:01:00,12.00,2024-02-01 08:01:00.000

--- query a view
SELECT * FROM Bigger;

--- rows
2,bea,12.00
3,ann,10.00
4,ann,100.00

--- query a view of a view, with names of its own
SELECT sum_of, order_id FROM BiggerOfAnn WHERE sum_of > 50;

--- rows
100.00,4

--- query a view hands on the time and the watermark, under another name
SELECT window_start, SUM(worth), COUNT(*)
FROM TABLE(TUMBLE(TABLE Stamped, DESCRIPTOR(happened), INTERVAL '10' MINUTE))
GROUP BY window_start, window_end;

--- rows
2024-02-01 08:00:00.000,26.50,3
2024-02-01 08:10:00.000,100.00,2

--- query a sub-query without a name
SELECT who, t * 2 FROM (SELECT buyer AS who, total AS t FROM Orders WHERE id < 3);

--- rows
ann,9.00
bea,24.00

--- query a sub-query with names for its columns
SELECT x.b FROM (SELECT id, buyer FROM Orders) AS x (a, b) WHERE x.a = 2;

--- rows
bea

--- query sub-queries in sub-queries
SELECT z FROM (SELECT y + 1 AS z FROM (SELECT id * 10 AS y FROM Orders) WHERE y > 20) WHERE z < 50;

--- rows
31
41

--- query WITH
WITH cheap AS (SELECT id, price FROM Orders WHERE price < 2) SELECT id FROM cheap WHERE id <> 3;

--- rows
1
5

--- query WITH several, one made of another
WITH a AS (SELECT id, total FROM Orders), b AS (SELECT id FROM a WHERE total > 9) SELECT id + 1000 FROM b;

--- rows
1002
1003
1004

--- query WITH used twice
WITH a AS (SELECT id FROM Orders WHERE id <= 2) SELECT id FROM a UNION ALL SELECT id + 10 FROM a;

--- rows
1
2
11
12

--- query a name of WITH hides a table's
WITH Bigger AS (SELECT 'mine' AS who FROM Orders WHERE id = 1) SELECT * FROM Bigger;

--- rows
mine

--- query WITH names for columns
WITH a (k, v) AS (SELECT id, buyer FROM Orders) SELECT v FROM a WHERE k = 1;

--- rows
ann

--- query VALUES as a table
SELECT n, t FROM (VALUES (1, 'one'), (2, 'two'), (3, CAST(NULL AS STRING))) AS v (n, t) WHERE n > 1;

--- rows
2,two
3,NULL

--- query SELECT without FROM
SELECT 1 + 1, UPPER('x');

--- rows
2,X

