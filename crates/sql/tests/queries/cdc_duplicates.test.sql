-- Tables whose changes may come twice, or lack their `-U`: with 'table.exec.source.cdc-events-duplicate' the last row of each
-- primary key is kept, and changes that change nothing are dropped.
--
-- Source: Flink, "Configuration", `DeduplicateFunctionHelper.processLastRowOnChangelog`, `DynamicSourceUtils`.
CREATE TABLE products (
  id INT, name STRING, price INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED
) WITH ('format' = 'debezium-json');

CREATE TABLE stock (
  warehouse STRING, product INT, amount INT, PRIMARY KEY (warehouse, product) NOT ENFORCED
) WITH ('format' = 'debezium-json');

CREATE TABLE logged (id INT, name STRING) WITH ('format' = 'debezium-json');

CREATE TABLE sold (product INT, amount INT);

--- input products
+I,1,ink,5,2024-01-01 00:00:01.000
+I,1,ink,5,2024-01-01 00:00:01.000
+I,2,pen,3,2024-01-01 00:00:02.000
-U,2,pen,3,2024-01-01 00:00:02.000
+U,2,pen,4,2024-01-01 00:00:03.000
-U,2,pen,3,2024-01-01 00:00:02.000
+U,2,pen,4,2024-01-01 00:00:03.000
-D,3,cap,9,2024-01-01 00:00:03.000
-D,1,ink,5,2024-01-01 00:00:01.000
-D,1,ink,5,2024-01-01 00:00:01.000
+I,4,cup,7,2024-01-01 00:00:07.000
-U,2,pen,4,2024-01-01 00:00:03.000
+U,2,pen,6,2024-01-01 00:00:08.000

--- input stock
+I,north,1,10
+I,south,1,20
+I,north,1,15
-D,south,1,20
+I,north,2,30
+I,north,2,30

--- input logged
+I,1,a
-D,1,a

--- input sold
1,2
2,3
4,5
2,1

--- query without the setting each change counts
SELECT id, COUNT(*), SUM(amount) FROM (SELECT product AS id, amount FROM stock) GROUP BY id;

--- changelog
+I,1,2,25
+I,2,2,60

--- set 'table.exec.source.cdc-events-duplicate' = 'true'

--- query the last row of each key is left
SELECT id, name, price FROM products;

--- changelog
+I,2,pen,6
+I,4,cup,7

--- query changes count once
SELECT COUNT(*), SUM(price), MIN(price) FROM products;

--- changelog
+I,2,13,6

--- query a filter behind the last rows
SELECT id, price FROM products WHERE price < 7;

--- changelog
+I,2,6

--- query a key of two columns, of which one is read
SELECT product, SUM(amount) FROM stock GROUP BY product;

--- changelog
+I,1,15
+I,2,30

--- query a column of the key that nothing reads still tells rows apart
SELECT amount FROM stock;

--- changelog
+I,15
+I,30

--- query windows take the rows back that others replace
SELECT window_start, COUNT(*), SUM(price)
FROM TUMBLE(TABLE products, DESCRIPTOR(ts), INTERVAL '5' SECOND)
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,1,4
2024-01-01 00:00:05.000,2,13

--- query a join with the last rows
SELECT s.product, s.amount, p.price FROM sold AS s JOIN products AS p ON s.product = p.id;

--- changelog
+I,2,3,6
+I,2,1,6
+I,4,5,7

--- query the first rows of the last rows
SELECT id, price FROM products ORDER BY price DESC LIMIT 1;

--- changelog
+I,4,7

--- query rows that are only added stay as they are
SELECT product, amount FROM sold;

--- rows
1,2
2,3
4,5
2,1

--- query a table of changes without a primary key
SELECT id FROM logged;

--- error INVALID
'table.exec.source.cdc-events-duplicate' needs a primary key, and the table `logged` has none

--- query a primary key that names a column twice
CREATE TABLE twice (a INT, b INT, PRIMARY KEY (a, a) NOT ENFORCED);

--- error INVALID
`a` stands twice in the primary key

--- query a primary key with a computed column
CREATE TABLE computed (a INT, b AS a + 1, PRIMARY KEY (b) NOT ENFORCED);

--- error INVALID
`b` is no column of the records, so it cannot be of the primary key

--- query a primary key that is to be enforced
CREATE TABLE enforced (a INT, PRIMARY KEY (a) ENFORCED);

--- error SYNTAX
a primary key is not checked: write PRIMARY KEY (..) NOT ENFORCED

--- query two primary keys
CREATE TABLE both_keys (a INT PRIMARY KEY NOT ENFORCED, b INT, PRIMARY KEY (b) NOT ENFORCED);

--- error SYNTAX
a table has one primary key, and this is a second
