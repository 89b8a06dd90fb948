-- GROUP BY without windows: results change with every row, and only a time to live bounds the state.
-- Changes are compared by what is left in the end. Answers: reference/group_by.py. Source: Flink's documentation, "Group Aggregation".
CREATE TABLE Orders (id INT, buyer STRING, product STRING, amount INT, price DECIMAL(8, 2));
CREATE TABLE Nothing (id INT, buyer STRING);

--- input Orders
1,ann,pen,3,1.50
2,bea,ink,1,12.00
3,ann,pen,2,1.50
4,NULL,pen,5,0.25
5,ann,ink,-4,12.00
6,cat,NULL,NULL,NULL
7,bea,pen,10,1.25
8,NULL,ink,1,11.00
9,bea,ink,-11,12.00

--- input Nothing

--- query without a time to live
SELECT buyer, COUNT(*) FROM Orders GROUP BY buyer;

--- changelog
+I,NULL,2
+I,ann,3
+I,bea,3
+I,cat,1

--- query distinct rows without a time to live
SELECT DISTINCT buyer FROM Orders;

--- changelog
+I,NULL
+I,ann
+I,bea
+I,cat

--- set 'table.exec.state.ttl' = '1 h'
--- query count and sum by key, where NULL is a key
SELECT buyer, COUNT(*), COUNT(amount), SUM(amount), SUM(price) FROM Orders GROUP BY buyer;

--- changelog
+I,ann,1,1,3,1.50
+I,bea,1,1,1,12.00
-U,ann,1,1,3,1.50
+U,ann,2,2,5,3.00
+I,NULL,1,1,5,0.25
-U,ann,2,2,5,3.00
+U,ann,3,3,1,15.00
+I,cat,1,0,NULL,NULL
-U,bea,1,1,1,12.00
+U,bea,2,2,11,13.25
-U,NULL,1,1,5,0.25
+U,NULL,2,2,6,11.25
-U,bea,2,2,11,13.25
+U,bea,3,3,0,25.25

--- query least, greatest, mean
SELECT product, MIN(amount), MAX(price), AVG(amount) FROM Orders GROUP BY product;

--- changelog
+I,pen,3,1.50,3
+I,ink,1,12.00,1
-U,pen,3,1.50,3
+U,pen,2,1.50,2
-U,pen,2,1.50,2
+U,pen,2,1.50,3
-U,ink,1,12.00,1
+U,ink,-4,12.00,-1
+I,NULL,NULL,NULL,NULL
-U,pen,2,1.50,3
+U,pen,2,1.50,5
-U,ink,-4,12.00,-1
+U,ink,-4,12.00,0
-U,ink,-4,12.00,0
+U,ink,-11,12.00,-3

--- query of all rows
SELECT COUNT(*), SUM(amount), MAX(buyer) FROM Orders;

--- changelog
+I,1,3,ann
-U,1,3,ann
+U,2,4,bea
-U,2,4,bea
+U,3,6,bea
-U,3,6,bea
+U,4,11,bea
-U,4,11,bea
+U,5,7,bea
-U,5,7,bea
+U,6,7,cat
-U,6,7,cat
+U,7,17,cat
-U,7,17,cat
+U,8,18,cat
-U,8,18,cat
+U,9,7,cat

--- query of no rows nothing
SELECT COUNT(*) FROM Nothing;

--- changelog

--- query distinct rows
SELECT DISTINCT buyer, product FROM Orders;

--- changelog
+I,ann,pen
+I,bea,ink
-U,ann,pen
+U,ann,pen
+I,NULL,pen
+I,ann,ink
+I,cat,NULL
+I,bea,pen
+I,NULL,ink
-U,bea,ink
+U,bea,ink

--- query distinct values
SELECT buyer, COUNT(DISTINCT product), SUM(DISTINCT amount) FROM Orders GROUP BY buyer;

--- changelog
+I,ann,1,3
+I,bea,1,1
-U,ann,1,3
+U,ann,1,5
+I,NULL,1,5
-U,ann,1,5
+U,ann,2,1
+I,cat,0,NULL
-U,bea,1,1
+U,bea,2,11
-U,NULL,1,5
+U,NULL,2,6
-U,bea,2,11
+U,bea,2,0

--- query HAVING takes back what no longer fits
SELECT buyer, SUM(amount) FROM Orders GROUP BY buyer HAVING SUM(amount) > 0;

--- changelog
+I,ann,3
+I,bea,1
-U,ann,3
+U,ann,5
+I,NULL,5
-U,ann,5
+U,ann,1
-U,bea,1
+U,bea,11
-U,NULL,5
+U,NULL,6
-U,bea,11

--- query counts of counts: groups become empty
SELECT n, COUNT(*), MIN(buyer) FROM (SELECT buyer, COUNT(*) AS n FROM Orders GROUP BY buyer) GROUP BY n;

--- changelog
+I,1,1,ann
-U,1,1,ann
+U,1,2,ann
-U,1,2,ann
+U,1,1,bea
+I,2,1,ann
-U,1,1,bea
+U,1,2,bea
-D,2,1,ann
+I,3,1,ann
-U,1,2,bea
+U,1,3,bea
-U,1,3,bea
+U,1,2,cat
+I,2,1,bea
-U,1,2,cat
+U,1,1,cat
-U,2,1,bea
+U,2,2,bea
-U,2,2,bea
+U,2,1,NULL
-U,3,1,ann
+U,3,2,ann

--- query the greatest of sums that fall
SELECT MAX(total), SUM(total) FROM (SELECT buyer, SUM(amount) AS total FROM Orders GROUP BY buyer);

--- changelog
+I,3,3
-U,3,3
+U,3,4
-U,3,4
+U,1,1
-U,1,1
+U,5,6
-U,5,6
+U,5,11
-U,5,11
+U,5,6
-U,5,6
+U,5,7
-U,5,7
+U,5,7
-U,5,7
+U,5,6
-U,5,6
+U,11,17
-U,11,17
+U,11,12
-U,11,12
+U,11,18
-U,11,18
+U,6,7
-U,6,7
+U,6,7

--- query a filter over a result
SELECT buyer, n FROM (SELECT buyer, COUNT(*) AS n FROM Orders GROUP BY buyer) WHERE n <= 2;

--- changelog
+I,ann,1
+I,bea,1
-U,ann,1
+U,ann,2
+I,NULL,1
-U,ann,2
+I,cat,1
-U,bea,1
+U,bea,2
-U,NULL,1
+U,NULL,2
-U,bea,2

--- query by an expression
SELECT amount > 0, COUNT(*) FROM Orders GROUP BY amount > 0;

--- changelog
+I,TRUE,1
-U,TRUE,1
+U,TRUE,2
-U,TRUE,2
+U,TRUE,3
-U,TRUE,3
+U,TRUE,4
+I,FALSE,1
+I,NULL,1
-U,TRUE,4
+U,TRUE,5
-U,TRUE,5
+U,TRUE,6
-U,FALSE,1
+U,FALSE,2

--- query FILTER
SELECT product, COUNT(*) FILTER (WHERE amount > 1), SUM(amount) FILTER (WHERE buyer = 'ann') FROM Orders GROUP BY product;

--- changelog
+I,pen,1,3
+I,ink,0,NULL
-U,pen,1,3
+U,pen,2,5
-U,pen,2,5
+U,pen,3,5
-U,ink,0,NULL
+U,ink,0,-4
+I,NULL,0,NULL
-U,pen,3,5
+U,pen,4,5
-U,ink,0,-4
+U,ink,0,-4
-U,ink,0,-4
+U,ink,0,-4

--- query grouping sets
SELECT buyer, product, COUNT(*) FROM Orders WHERE id <= 5 GROUP BY GROUPING SETS ((buyer), (product), ());

--- changelog
+I,ann,NULL,1
+I,NULL,pen,1
+I,NULL,NULL,1
+I,bea,NULL,1
+I,NULL,ink,1
-U,NULL,NULL,1
+U,NULL,NULL,2
-U,ann,NULL,1
+U,ann,NULL,2
-U,NULL,pen,1
+U,NULL,pen,2
-U,NULL,NULL,2
+U,NULL,NULL,3
+I,NULL,NULL,1
-U,NULL,pen,2
+U,NULL,pen,3
-U,NULL,NULL,3
+U,NULL,NULL,4
-U,ann,NULL,2
+U,ann,NULL,3
-U,NULL,ink,1
+U,NULL,ink,2
-U,NULL,NULL,4
+U,NULL,NULL,5

--- query UNION without ALL takes doubles out
SELECT buyer FROM Orders UNION SELECT product FROM Orders;

--- changelog
+I,ann
+I,bea
-U,ann
+U,ann
+I,NULL
-U,ann
+U,ann
+I,cat
-U,bea
+U,bea
-U,NULL
+U,NULL
-U,bea
+U,bea
+I,pen
+I,ink
-U,pen
+U,pen
-U,pen
+U,pen
-U,ink
+U,ink
-U,NULL
+U,NULL
-U,pen
+U,pen
-U,ink
+U,ink
-U,ink
+U,ink

