-- Grouping sets that have the same keys: those of one ROLLUP or CUBE are one set, those that are named twice come out twice, each with
-- its own rows counted once. Answers by hand. Source: SQL:2016, 7.13 (group by clause).
CREATE TABLE T (a STRING, b STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

--- input T
x,p,1,2024-01-01 00:00:01.000
x,q,2,2024-01-01 00:00:02.000
y,q,4,2024-01-01 00:00:03.000

--- query a set that is named twice
SELECT a, SUM(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS ((a), (a), (a, b));

--- rows
x,3
x,3
y,4
y,4
x,1
x,2
y,4

--- query a key that ROLLUP has twice
SELECT a, SUM(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, ROLLUP (a, a);

--- rows
x,3
y,4
NULL,7

--- query pairs of the same keys in one ROLLUP
SELECT a, b, SUM(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, ROLLUP ((a, b), (b, a));

--- rows
x,p,1
x,q,2
y,q,4
NULL,NULL,7

--- query a CUBE in small letters among the sets
select a, b, sum(v), grouping_id(a, b) from table(tumble(table T, descriptor(ts), interval '1' minute))
group by window_start, window_end, grouping sets (rollup (a), (b));

--- rows
x,NULL,3,1
y,NULL,4,1
NULL,NULL,7,3
NULL,p,1,2
NULL,q,6,2

--- query the sum of all twice
SELECT a, b, SUM(v) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS (ROLLUP (a), ROLLUP (b));

--- rows
x,NULL,3
y,NULL,4
NULL,p,1
NULL,q,6
NULL,NULL,7
NULL,NULL,7

--- query a function of that name
SELECT a FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS (`ROLLUP`(a), (b));

--- error UNKNOWN_FUNCTION
ROLLUP

--- query a ROLLUP that is none
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS (ROLLUP(DISTINCT a), (b));

--- error SYNTAX
ROLLUP takes a list of columns

--- query too many sets
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, GROUPING SETS (
  CUBE(a, b, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7), CUBE(a, b, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 8),
  CUBE(a, b, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 9), CUBE(a, b, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 10),
  (a)
);

--- error UNSUPPORTED
more than 4096 sets

--- query more keys than are told apart
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, ROLLUP (
  v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10, v + 11, v + 12, v + 13, v + 14, v + 15, v + 16, v + 17,
  v + 18, v + 19, v + 20, v + 21, v + 22, v + 23, v + 24, v + 25, v + 26, v + 27, v + 28, v + 29, v + 30, v + 31, v + 32, v + 33,
  v + 34, v + 35, v + 36, v + 37, v + 38, v + 39, v + 40, v + 41, v + 42, v + 43, v + 44, v + 45, v + 46, v + 47, v + 48, v + 49
);

--- error UNSUPPORTED
at most 48 keys
