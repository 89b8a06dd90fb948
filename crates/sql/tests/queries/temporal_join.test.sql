-- Temporal joins by event time: each row meets the version of the other side that was valid at its time.
-- A table with a primary key has every row as a version. A view that keeps the last row of each key forgets rows that come after
-- a later one, so that Euro's 1.15 is no version of it.
-- Versions come before the rows that need them, or the watermark waits for them, so that the order between inputs does not matter.
-- Order 10 comes behind the watermark of its side, and is dropped: not as Flink 2.3, where such a row meets whichever versions are
-- left, but as Flink after FLINK-39719, so that the order between inputs does not matter.
-- Answers: reference/temporal_join.py. Source: Flink's documentation, "Joins", section "Event Time Temporal Join"; "Versioned Tables".
CREATE TABLE Orders (
  id INT, price DECIMAL(10, 2), currency STRING, order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time - INTERVAL '15' SECOND
);
CREATE TABLE RateHistory (
  currency STRING, rate DECIMAL(10, 2), update_time TIMESTAMP(3),
  WATERMARK FOR update_time AS update_time - INTERVAL '15' SECOND
);
CREATE TABLE KeyedRates (
  currency STRING, rate DECIMAL(10, 2), update_time TIMESTAMP(3),
  WATERMARK FOR update_time AS update_time - INTERVAL '15' SECOND,
  PRIMARY KEY (currency) NOT ENFORCED
);
CREATE VIEW Rates AS
SELECT currency, rate, update_time
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY update_time DESC) AS row_num
  FROM RateHistory
)
WHERE row_num = 1;
CREATE VIEW FirstRates AS
SELECT currency, rate, update_time
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY update_time ASC) AS row_num
  FROM RateHistory
)
WHERE row_num = 1;

--- input Orders
0,1.00,Euro,2024-06-01 12:00:04.999
1,10.00,Euro,2024-06-01 12:00:10.000
2,5.00,Yen,2024-06-01 12:00:20.000
3,1.00,Euro,2024-06-01 12:00:30.000
4,7.00,Dong,2024-06-01 12:00:31.000
5,2.00,Euro,2024-06-01 12:00:29.999
6,3.00,NULL,2024-06-01 12:00:32.000
7,4.00,Yen,2024-06-01 12:00:18.000
8,9.00,Euro,2024-06-01 12:00:59.000
9,9.00,Euro,2024-06-01 12:00:45.000
10,1.00,Euro,2024-06-01 12:00:44.000

--- input RateHistory
Euro,1.10,2024-06-01 12:00:05.000
Yen,0.01,2024-06-01 12:00:19.000
Euro,1.20,2024-06-01 12:00:30.000
Euro,1.15,2024-06-01 12:00:20.000
Yen,NULL,2024-06-01 12:00:25.000
Euro,1.30,2024-06-01 12:01:10.000

--- input KeyedRates
Euro,1.10,2024-06-01 12:00:05.000
Yen,0.01,2024-06-01 12:00:19.000
Euro,1.20,2024-06-01 12:00:30.000
Euro,1.15,2024-06-01 12:00:20.000
Yen,NULL,2024-06-01 12:00:25.000
Euro,1.30,2024-06-01 12:01:10.000

--- query the version at the time of the order, or none
SELECT o.id, o.currency, r.rate, o.price * r.rate
FROM Orders AS o
LEFT JOIN Rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;

--- rows
0,Euro,NULL,NULL
1,Euro,1.10,11.0000
2,Yen,0.01,0.0500
3,Euro,1.20,1.2000
4,Dong,NULL,NULL
5,Euro,1.10,2.2000
6,NULL,NULL,NULL
7,Yen,NULL,NULL
8,Euro,1.20,10.8000
9,Euro,1.20,10.8000

--- query orders with a version only
SELECT o.id, r.rate
FROM Orders AS o
JOIN Rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;

--- rows
1,1.10
2,0.01
3,1.20
5,1.10
8,1.20
9,1.20

--- query a version is valid from its own time on
SELECT o.id, o.order_time, r.update_time
FROM Orders AS o
LEFT JOIN Rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency
WHERE o.id IN (3, 5, 8);

--- rows
3,2024-06-01 12:00:30.000,2024-06-01 12:00:30.000
5,2024-06-01 12:00:29.999,2024-06-01 12:00:05.000
8,2024-06-01 12:00:59.000,2024-06-01 12:00:30.000

--- query a condition beside the key
SELECT o.id, r.rate
FROM Orders AS o
LEFT JOIN Rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency AND r.rate > 1.12;

--- rows
0,NULL
1,NULL
2,NULL
3,1.20
4,NULL
5,NULL
6,NULL
7,NULL
8,1.20
9,1.20

--- query a condition behind the join
SELECT o.id, r.rate
FROM Orders AS o
LEFT JOIN Rates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency
WHERE r.rate > 1.12;

--- rows
3,1.20
8,1.20
9,1.20

--- query a table with a primary key: the version at the time of the order, or none
SELECT o.id, o.currency, r.rate, o.price * r.rate
FROM Orders AS o
LEFT JOIN KeyedRates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;

--- rows
0,Euro,NULL,NULL
1,Euro,1.10,11.0000
2,Yen,0.01,0.0500
3,Euro,1.20,1.2000
4,Dong,NULL,NULL
5,Euro,1.15,2.3000
6,NULL,NULL,NULL
7,Yen,NULL,NULL
8,Euro,1.20,10.8000
9,Euro,1.20,10.8000

--- query a table with a primary key: orders with a version only
SELECT o.id, r.rate
FROM Orders AS o
JOIN KeyedRates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;

--- rows
1,1.10
2,0.01
3,1.20
5,1.15
8,1.20
9,1.20

--- query the first row of each key is its only version
SELECT o.id, r.rate
FROM Orders AS o
LEFT JOIN FirstRates FOR SYSTEM_TIME AS OF o.order_time AS r
ON o.currency = r.currency;

--- rows
0,NULL
1,1.10
2,0.01
3,1.10
4,NULL
5,1.10
6,NULL
7,NULL
8,1.10
9,1.10
