-- Interval joins: rows whose times are near; inner and outer, both bounds included, bounds on one side, further conditions.
-- Answers: reference/interval_join.py. Source: Flink's documentation, "Joins", section "Interval Joins".
CREATE TABLE Orders (
  oid INT, buyer STRING, amount INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '20' SECOND
);
CREATE TABLE Shipments (
  sid INT, oid INT, place STRING, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '20' SECOND
);

--- input Orders
1,ann,10,2024-06-01 12:00:00.000
2,bea,20,2024-06-01 12:00:05.000
3,ann,30,2024-06-01 12:00:03.000
NULL,cat,40,2024-06-01 12:00:04.000
5,dan,50,2024-06-01 12:01:00.000
6,eve,60,2024-06-01 12:01:30.000
2,bea,21,2024-06-01 12:01:29.000

--- input Shipments
101,1,north,2024-06-01 12:00:10.000
102,1,north,2024-06-01 12:00:10.001
103,2,south,2024-06-01 12:00:05.000
104,3,south,2024-06-01 12:00:02.999
105,NULL,north,2024-06-01 12:00:06.000
106,2,NULL,2024-06-01 12:00:14.999
107,5,north,2024-06-01 12:01:10.000
108,9,south,2024-06-01 12:01:00.000
109,6,north,2024-06-01 12:01:29.999

--- query shipped within ten seconds, both ends included
SELECT O.oid, O.amount, S.sid
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND;

--- rows
1,10,101
2,20,103
2,20,106
5,50,107

--- query the documentation's form: in WHERE, with commas
SELECT O.oid, O.amount, S.sid
FROM Orders O, Shipments S
WHERE O.oid = S.oid AND O.ts BETWEEN S.ts - INTERVAL '10' SECOND AND S.ts;

--- rows
1,10,101
2,20,103
2,20,106
5,50,107

--- query ends left out
SELECT O.oid, O.amount, S.sid
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts > O.ts AND S.ts < O.ts + INTERVAL '10' SECOND;

--- rows
2,20,106

--- query left: orders without a shipment in time
SELECT O.oid, O.amount, S.sid
FROM Orders O
LEFT JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND;

--- rows
1,10,101
2,20,103
2,20,106
5,50,107
3,30,NULL
NULL,40,NULL
6,60,NULL
2,21,NULL

--- query right: shipments without an order in time
SELECT O.oid, S.oid, S.sid
FROM Orders O
RIGHT JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND;

--- rows
1,1,101
2,2,103
2,2,106
5,5,107
NULL,1,102
NULL,3,104
NULL,NULL,105
NULL,9,108
NULL,6,109

--- query full
SELECT O.oid, O.amount, S.oid, S.sid
FROM Orders O
FULL JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND;

--- rows
1,10,1,101
2,20,2,103
2,20,2,106
5,50,5,107
3,30,NULL,NULL
NULL,40,NULL,NULL
6,60,NULL,NULL
2,21,NULL,NULL
NULL,NULL,1,102
NULL,NULL,3,104
NULL,NULL,NULL,105
NULL,NULL,9,108
NULL,NULL,6,109

--- query bounds on both sides of a row
SELECT O.oid, O.amount, S.sid
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts - INTERVAL '1' SECOND AND O.ts + INTERVAL '1' SECOND;

--- rows
2,20,103
3,30,104
6,60,109

--- query equal times
SELECT O.oid, O.amount, S.sid
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts = O.ts;

--- rows
2,20,103

--- query another condition is part of the join
SELECT O.oid, O.amount, S.sid
FROM Orders O
LEFT JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND AND S.place = 'south';

--- rows
2,20,103
1,10,NULL
3,30,NULL
NULL,40,NULL
5,50,NULL
6,60,NULL
2,21,NULL

--- query another condition behind the join is not
SELECT O.oid, O.amount, S.sid
FROM Orders O
LEFT JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND
WHERE S.place = 'south';

--- rows
2,20,103

--- query a condition that compares both sides
SELECT O.oid, O.amount, S.sid
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts - INTERVAL '10' SECOND AND O.ts + INTERVAL '10' SECOND AND O.amount + 90 > S.sid;

--- rows
2,20,103
2,20,106
3,30,104
5,50,107
6,60,109

--- query a table with itself
SELECT A.oid, A.amount, B.amount
FROM Orders A
JOIN Orders B
ON A.buyer = B.buyer AND B.ts > A.ts AND B.ts <= A.ts + INTERVAL '2' MINUTE;

--- rows
1,10,30
2,20,21

--- query times are columns of the result
SELECT O.ts AS ordered_at, S.ts AS shipped_at, S.place
FROM Orders O
INNER JOIN Shipments S
ON O.oid = S.oid AND S.ts BETWEEN O.ts AND O.ts + INTERVAL '10' SECOND;

--- rows
2024-06-01 12:00:00.000,2024-06-01 12:00:10.000,north
2024-06-01 12:00:05.000,2024-06-01 12:00:05.000,south
2024-06-01 12:00:05.000,2024-06-01 12:00:14.999,NULL
2024-06-01 12:01:00.000,2024-06-01 12:01:10.000,north

