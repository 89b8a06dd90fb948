-- Rows without a result, in front of operators of every kind: the query ends with the code and the expression, however it is run.
-- Answers by hand.
CREATE TABLE T (id INT, v INT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND);

--- input T
1,1,1,2024-01-01 00:00:01.000
2,2,2,2024-01-01 00:00:02.000
3,1,x,2024-01-01 00:01:03.000
4,0,4,2024-01-01 00:02:04.000
5,5,5,2024-01-01 00:03:05.000

--- query in what a window adds up
SELECT window_start, SUM(100 / v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query in a key of a window
SELECT window_start, CAST(s AS INT), COUNT(*) FROM TABLE(HOP(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES))
GROUP BY window_start, window_end, CAST(s AS INT);

--- error BAD_CAST
CAST(s AS INT): 'x' cannot be cast to INT

--- query in a condition before a window
SELECT window_start, COUNT(*) FROM TABLE(CUMULATE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES))
WHERE 100 / v > 3 GROUP BY window_start, window_end;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query in a filter of an aggregate
SELECT window_start, COUNT(*) FILTER (WHERE 100 / v > 3) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query behind a window
SELECT 100 / SUM(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error DIVISION_BY_ZERO
division by zero

--- query in a session
SELECT SUM(100 / v) FROM TABLE(SESSION(TABLE T PARTITION BY id, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY id, window_start, window_end;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query in front of OVER
SELECT SUM(100 / v) OVER (PARTITION BY id ORDER BY ts) FROM T;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query in a key of a join
SELECT a.id FROM T AS a JOIN T AS b ON 100 / a.v = b.id AND a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts;

--- error DIVISION_BY_ZERO
100 / v: division by zero

--- query of one value that should be one row
SELECT window_start, SINGLE_VALUE(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error NOT_ONE_ROW
2 rows where one value is needed
