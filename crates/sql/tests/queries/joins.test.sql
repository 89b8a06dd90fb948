-- Joins without bounds in time: both sides are kept, for a time to live. Inner joins of rows that only come are rows that only
-- come; outer and anti joins take back what found no partner until it did.
-- Answers: reference/joins.py. Source: Flink's documentation, "Joins", section "Regular Joins".
CREATE TABLE Orders (oid INT, buyer STRING, amount INT);
CREATE TABLE Payments (pid INT, oid INT, paid INT);
CREATE TABLE Buyers (buyer STRING, city STRING);

--- input Orders
1,ann,10
2,bea,20
3,ann,30
NULL,cat,40
5,NULL,50
2,bea,21

--- input Payments
100,1,4
101,1,6
102,2,20
103,NULL,40
104,9,1
105,5,NULL

--- input Buyers
ann,Rome
bea,Oslo
dan,Bern
NULL,Bonn

--- query without a time to live
SELECT O.oid, O.amount, P.pid
FROM Orders O
INNER JOIN Payments P ON O.oid = P.oid;

--- rows
1,10,100
1,10,101
2,20,102
2,21,102
5,50,105

--- query an outer join without a time to live
SELECT O.oid, O.amount, P.pid
FROM Orders O
LEFT JOIN Payments P ON O.oid = P.oid;

--- changelog
+I,1,10,100
+I,1,10,101
+I,2,20,102
+I,2,21,102
+I,3,30,NULL
+I,5,50,105
+I,NULL,40,NULL

--- set 'table.exec.state.ttl' = '1 h'
--- query inner, where NULL joins nothing
SELECT O.oid, O.amount, P.pid
FROM Orders O
INNER JOIN Payments P ON O.oid = P.oid;

--- rows
1,10,100
1,10,101
2,20,102
5,50,105
2,21,102

--- query inner by commas and WHERE
SELECT O.oid, P.pid FROM Orders O, Payments P WHERE O.oid = P.oid AND P.paid > 5;

--- rows
1,101
2,102
2,102

--- query inner by USING
SELECT oid, amount, pid FROM Orders JOIN Payments USING (oid);

--- rows
1,10,100
1,10,101
2,20,102
5,50,105
2,21,102

--- query left
SELECT O.oid, O.amount, P.pid
FROM Orders O
LEFT JOIN Payments P ON O.oid = P.oid;

--- changelog
+I,1,10,100
+I,1,10,101
+I,2,20,NULL
-D,2,20,NULL
+I,2,20,102
+I,3,30,NULL
+I,NULL,40,NULL
+I,5,50,NULL
-D,5,50,NULL
+I,5,50,105
+I,2,21,102

--- query right
SELECT O.oid, P.oid, P.pid
FROM Orders O
RIGHT JOIN Payments P ON O.oid = P.oid;

--- changelog
+I,1,1,100
+I,1,1,101
+I,2,2,102
+I,2,2,102
+I,NULL,NULL,103
+I,NULL,9,104
+I,5,5,105

--- query full
SELECT O.oid, O.amount, P.oid, P.pid
FROM Orders O
FULL JOIN Payments P ON O.oid = P.oid;

--- changelog
+I,NULL,NULL,1,100
-D,NULL,NULL,1,100
+I,1,10,1,100
+I,1,10,1,101
+I,2,20,NULL,NULL
-D,2,20,NULL,NULL
+I,2,20,2,102
+I,3,30,NULL,NULL
+I,NULL,NULL,NULL,103
+I,NULL,40,NULL,NULL
+I,NULL,NULL,9,104
+I,5,50,NULL,NULL
-D,5,50,NULL,NULL
+I,5,50,5,105
+I,2,21,2,102

--- query a condition beside the key is part of the join
SELECT O.oid, O.amount, P.pid
FROM Orders O
LEFT JOIN Payments P ON O.oid = P.oid AND P.paid > 5;

--- changelog
+I,1,10,NULL
+I,2,20,NULL
+I,3,30,NULL
+I,NULL,40,NULL
+I,5,50,NULL
+I,2,21,NULL
-D,1,10,NULL
+I,1,10,101
-D,2,20,NULL
+I,2,20,102
-D,2,21,NULL
+I,2,21,102

--- query a condition behind the join is not
SELECT O.oid, O.amount, P.pid
FROM Orders O
LEFT JOIN Payments P ON O.oid = P.oid
WHERE P.paid > 5;

--- rows
1,10,101
2,20,102
2,21,102

--- query NULLs join by IS NOT DISTINCT FROM
SELECT O.oid, O.amount, P.pid
FROM Orders O
INNER JOIN Payments P ON O.oid IS NOT DISTINCT FROM P.oid;

--- rows
1,10,100
1,10,101
2,20,102
NULL,40,103
5,50,105
2,21,102

--- query without an equality
SELECT O.amount, P.paid
FROM Orders O
INNER JOIN Payments P ON O.amount < P.paid;

--- rows
10,20
10,40
20,40
30,40
21,40

--- query every pair
SELECT O.oid, B.city FROM Orders O CROSS JOIN Buyers B WHERE O.amount >= 40;

--- rows
NULL,Rome
NULL,Oslo
NULL,Bern
NULL,Bonn
5,Rome
5,Oslo
5,Bern
5,Bonn

--- query three tables
SELECT B.city, O.oid, P.pid
FROM Orders O
JOIN Payments P ON O.oid = P.oid
JOIN Buyers B ON O.buyer = B.buyer;

--- rows
Rome,1,100
Rome,1,101
Oslo,2,102
Oslo,2,102

--- query semi join by IN
SELECT oid, amount FROM Orders WHERE oid IN (SELECT oid FROM Payments);

--- rows
1,10
2,20
5,50
2,21

--- query semi join by EXISTS
SELECT oid, amount FROM Orders O WHERE EXISTS (SELECT 1 FROM Payments P WHERE P.oid = O.oid AND P.paid > 5);

--- rows
1,10
2,20
2,21

--- query anti join by NOT EXISTS
SELECT oid, amount FROM Orders O WHERE NOT EXISTS (SELECT 1 FROM Payments P WHERE P.oid = O.oid);

--- changelog
+I,1,10
-D,1,10
+I,2,20
+I,3,30
-D,2,20
+I,NULL,40
+I,5,50
-D,5,50

--- query NOT IN what holds a NULL is never true
SELECT oid, amount FROM Orders WHERE oid NOT IN (SELECT oid FROM Payments);

--- changelog
+I,1,10
-D,1,10
+I,2,20
+I,3,30
-D,2,20
-D,3,30

--- query NOT IN what holds none
SELECT oid, amount FROM Orders WHERE oid NOT IN (SELECT oid FROM Payments WHERE oid IS NOT NULL);

--- changelog
+I,1,10
-D,1,10
+I,2,20
+I,3,30
-D,2,20
+I,5,50
-D,5,50

--- query with a result that changes
SELECT O.oid, O.amount, T.total
FROM Orders O
JOIN (SELECT oid, SUM(paid) AS total FROM Payments GROUP BY oid) T ON O.oid = T.oid;

--- changelog
+I,1,10,4
-U,1,10,4
+U,1,10,10
+I,2,20,20
+I,2,21,20
+I,5,50,NULL

--- query a result of a left join, counted
SELECT O.oid, COUNT(P.pid)
FROM Orders O LEFT JOIN Payments P ON O.oid = P.oid
GROUP BY O.oid;

--- changelog
+I,1,0
-D,1,0
+I,1,1
+I,2,0
-U,1,1
+U,1,2
+I,3,0
-D,2,0
+I,2,1
+I,NULL,0
+I,5,0
-U,2,1
+U,2,2
-D,5,0
+I,5,1

