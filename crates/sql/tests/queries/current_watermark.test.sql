-- CURRENT_WATERMARK: the watermark before each row, NULL before the first one. Answers follow Flink's documentation, "System
-- (Built-in) Functions".
CREATE TABLE Bid (
  price INT, ts TIMESTAMP(3), half AS price / 2,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
);
CREATE TABLE Zoned (price INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts);
CREATE VIEW Known AS SELECT price, ts AS at_time, CURRENT_WATERMARK(ts) AS w FROM Bid;

--- input Bid
1,2024-01-01 00:00:01.000
2,2024-01-01 00:00:05.000
3,2024-01-01 00:00:03.500
4,2024-01-01 00:00:09.000
5,2024-01-01 00:00:07.000

--- input Zoned
1,2024-01-01 00:00:01.000Z
2,2024-01-01 00:00:02.000Z

--- query the watermark before each row
SELECT price, CURRENT_WATERMARK(ts) FROM Bid;

--- rows
1,NULL
2,2024-01-01 00:00:00.000
3,2024-01-01 00:00:04.000
4,2024-01-01 00:00:04.000
5,2024-01-01 00:00:08.000

--- query rows that are late
SELECT price FROM Bid WHERE ts <= CURRENT_WATERMARK(ts);

--- rows
3
5

--- query rows that are not late
SELECT price, half FROM Bid WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts);

--- rows
1,0
2,1
4,2

--- query of local time
SELECT price, CURRENT_WATERMARK(ts) FROM Zoned;

--- rows
1,NULL
2,2024-01-01 00:00:01.000

--- query it has three digits, and may be NULL
SELECT TYPEOF(CURRENT_WATERMARK(ts)) FROM Bid WHERE price = 1;

--- rows
TIMESTAMP(3)

--- query within a view, and under a window
SELECT window_start, COUNT(w), MAX(w)
FROM TABLE(TUMBLE(TABLE Known, DESCRIPTOR(at_time), INTERVAL '10' SECONDS)) GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,4,2024-01-01 00:00:08.000

--- query a table that is also read without it
SELECT a.price FROM Bid AS a JOIN (SELECT price, CURRENT_WATERMARK(ts) AS w FROM Bid) AS b ON a.price = b.price
WHERE b.w IS NULL;

--- changelog
+I,1

--- query a filter below leaves rows out, and their watermarks stay
SELECT price, CURRENT_WATERMARK(ts) FROM (SELECT * FROM Bid WHERE price <> 2) AS t;

--- rows
1,NULL
3,2024-01-01 00:00:04.000
4,2024-01-01 00:00:04.000
5,2024-01-01 00:00:08.000

--- query it takes an event time
SELECT CURRENT_WATERMARK(price) FROM Bid;

--- error INVALID
takes an event time

--- query it takes no other time
SELECT CURRENT_WATERMARK(TO_TIMESTAMP('2024-01-01 00:00:00')) FROM Bid;

--- error INVALID
takes an event time

--- query it takes no event time with an interval (not as Flink)
SELECT CURRENT_WATERMARK(ts + INTERVAL '1' SECOND) FROM Bid;

--- error INVALID
takes an event time

--- query it takes one argument
SELECT CURRENT_WATERMARK() FROM Bid;

--- error INVALID
0 arguments

--- query behind another operator it is not known
SELECT CURRENT_WATERMARK(a.ts) FROM Bid AS a JOIN Bid AS b ON a.price = b.price AND a.ts = b.ts;

--- error UNSUPPORTED
is known where a table is read

--- set 'execution.runtime-mode' = 'batch'
--- query batch mode has no watermarks
SELECT price, CURRENT_WATERMARK(ts) FROM Bid;

--- rows
1,NULL
2,NULL
3,NULL
4,NULL
5,NULL
