-- Aggregates over windows: each of them, with NULLs, DISTINCT, FILTER, HAVING, types of results, windows in which all is NULL.
-- The row with id 9 is late. Answers: reference/window_aggregates.py. Source: Flink's documentation, "Aggregate Functions".
CREATE TABLE Sales (
  id INT, shop STRING, item STRING, qty INT, price DECIMAL(8, 2), weight DOUBLE, paid BOOLEAN, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
);
CREATE TABLE Nothing (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);

--- input Sales
1,north,pen,3,1.50,2.0,true,2024-03-01 08:00:00.000
2,south,ink,1,12.00,4.0,false,2024-03-01 08:10:00.000
3,north,pen,3,1.55,4.0,true,2024-03-01 08:20:00.000
4,north,paper,-5,NULL,4.0,NULL,2024-03-01 08:30:00.000
5,south,ink,2,12.00,5.0,true,2024-03-01 08:59:59.999
6,NULL,glue,NULL,0.25,5.0,false,2024-03-01 09:00:00.000
7,north,"",7,2.00,7.0,true,2024-03-01 09:00:01.000
8,south,NULL,7,2.01,9.0,false,2024-03-01 09:30:00.000
9,north,glue,1,100.00,0.5,true,2024-03-01 08:45:00.000
10,south,pen,NULL,NULL,NULL,NULL,2024-03-01 10:15:00.000
11,south,pen,NULL,NULL,NULL,NULL,2024-03-01 10:16:00.000
12,east,ink,2147483647,999999.99,0.125,true,2024-03-01 11:00:00.000
13,east,ink,1,0.01,0.25,true,2024-03-01 11:30:00.000

--- input Nothing

--- query COUNT of rows, of values, of distinct values
SELECT window_start, COUNT(*), COUNT(1), COUNT(item), COUNT(qty), COUNT(DISTINCT item), COUNT(DISTINCT qty)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,5,5,5,5,3,4
2024-03-01 09:00:00.000,3,3,2,2,2,1
2024-03-01 10:00:00.000,2,2,2,0,1,0
2024-03-01 11:00:00.000,2,2,2,2,1,2

--- query SUM keeps the type of whole numbers, and wraps
SELECT window_start, SUM(qty), SUM(CAST(qty AS BIGINT))
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,4,4
2024-03-01 09:00:00.000,14,14
2024-03-01 10:00:00.000,NULL,NULL
2024-03-01 11:00:00.000,-2147483648,2147483648

--- query SUM of decimals and doubles
SELECT window_start, SUM(price), SUM(weight)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,27.05,19.0
2024-03-01 09:00:00.000,4.26,21.0
2024-03-01 10:00:00.000,NULL,NULL
2024-03-01 11:00:00.000,1000000.00,0.375

--- query AVG of whole numbers drops the fraction
SELECT window_start, AVG(qty), AVG(CAST(qty AS BIGINT))
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE id < 12
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,0,0
2024-03-01 09:00:00.000,7,7
2024-03-01 10:00:00.000,NULL,NULL

--- query AVG of decimals has six digits, rounded half up; AVG of doubles
SELECT window_start, AVG(price), AVG(weight)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,6.762500,3.8
2024-03-01 09:00:00.000,1.420000,7.0
2024-03-01 10:00:00.000,NULL,NULL
2024-03-01 11:00:00.000,500000.000000,0.1875

--- query MIN and MAX of numbers, text, times
SELECT window_start, MIN(qty), MAX(qty), MIN(price), MAX(item), MIN(item), MAX(weight), MIN(ts), MAX(ts)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,-5,3,1.50,pen,ink,5.0,2024-03-01 08:00:00.000,2024-03-01 08:59:59.999
2024-03-01 09:00:00.000,7,7,0.25,glue,"",9.0,2024-03-01 09:00:00.000,2024-03-01 09:30:00.000
2024-03-01 10:00:00.000,NULL,NULL,NULL,pen,pen,NULL,2024-03-01 10:15:00.000,2024-03-01 10:16:00.000
2024-03-01 11:00:00.000,1,2147483647,0.01,ink,ink,0.25,2024-03-01 11:00:00.000,2024-03-01 11:30:00.000

--- query FIRST_VALUE and LAST_VALUE by arrival, without NULLs
SELECT window_start, FIRST_VALUE(item), LAST_VALUE(item), FIRST_VALUE(qty), LAST_VALUE(price)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,pen,ink,3,12.00
2024-03-01 09:00:00.000,glue,"",7,2.01
2024-03-01 10:00:00.000,pen,pen,NULL,NULL
2024-03-01 11:00:00.000,ink,ink,2147483647,0.01

--- query LISTAGG joins by arrival, without NULLs
SELECT window_start, LISTAGG(item), LISTAGG(item, '; ')
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,"pen,ink,pen,paper,ink",pen; ink; pen; paper; ink
2024-03-01 09:00:00.000,"glue,",glue; 
2024-03-01 10:00:00.000,"pen,pen",pen; pen
2024-03-01 11:00:00.000,"ink,ink",ink; ink

--- query deviation and variance, of samples and populations
SELECT window_start, STDDEV_POP(weight), STDDEV_SAMP(weight), VAR_POP(weight), VAR_SAMP(weight)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE id IN (1, 2, 3, 4, 10, 11)
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,0.8660254037844386,1.0,0.75,1.0
2024-03-01 10:00:00.000,NULL,NULL,NULL,NULL

--- query DISTINCT for SUM, AVG, MAX
SELECT window_start, SUM(DISTINCT qty), AVG(DISTINCT price), MAX(DISTINCT qty), SUM(qty)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE id < 12
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,1,5.016667,3,4
2024-03-01 09:00:00.000,7,1.420000,7,14
2024-03-01 10:00:00.000,NULL,NULL,NULL,NULL

--- query FILTER takes rows for one aggregate only
SELECT window_start, COUNT(*), COUNT(*) FILTER (WHERE paid), SUM(qty) FILTER (WHERE NOT paid), COUNT(DISTINCT item) FILTER (WHERE qty > 1), COUNT(*) FILTER (WHERE paid IS NULL)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,5,3,1,2,1
2024-03-01 09:00:00.000,3,1,7,1,0
2024-03-01 10:00:00.000,2,0,NULL,0,2
2024-03-01 11:00:00.000,2,2,NULL,1,0

--- query expressions of aggregates and aggregates of expressions
SELECT window_start, SUM(qty * price), SUM(qty) + COUNT(*), MAX(qty) - MIN(qty), COALESCE(SUM(qty), 0)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE id < 12
GROUP BY window_start, window_end;

--- rows
2024-03-01 08:00:00.000,45.15,9,8,4
2024-03-01 09:00:00.000,28.07,17,0,14
2024-03-01 10:00:00.000,NULL,NULL,NULL,0

--- query HAVING
SELECT window_start, SUM(qty)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end
HAVING COUNT(*) > 2 AND MAX(weight) > 6;

--- rows
2024-03-01 09:00:00.000,14

--- query HAVING with an aggregate that is not shown, unknown where it is NULL
SELECT window_start
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end
HAVING SUM(qty) > 0;

--- rows
2024-03-01 08:00:00.000
2024-03-01 09:00:00.000

--- query by key, where NULL is a key
SELECT shop, window_start, COUNT(*), SUM(price)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end, shop;

--- rows
north,2024-03-01 08:00:00.000,3,3.05
south,2024-03-01 08:00:00.000,2,24.00
NULL,2024-03-01 09:00:00.000,1,0.25
north,2024-03-01 09:00:00.000,1,2.00
south,2024-03-01 09:00:00.000,1,2.01
south,2024-03-01 10:00:00.000,2,NULL
east,2024-03-01 11:00:00.000,2,1000000.00

--- query by an expression
SELECT window_start, qty > 2, COUNT(*)
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end, qty > 2;

--- rows
2024-03-01 08:00:00.000,TRUE,2
2024-03-01 08:00:00.000,FALSE,3
2024-03-01 09:00:00.000,NULL,1
2024-03-01 09:00:00.000,TRUE,2
2024-03-01 10:00:00.000,NULL,2
2024-03-01 11:00:00.000,TRUE,1
2024-03-01 11:00:00.000,FALSE,1

--- query the same aggregate twice and a literal
SELECT 'w', COUNT(*), COUNT(*), window_end
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE shop = 'north'
GROUP BY window_start, window_end;

--- rows
w,3,3,2024-03-01 09:00:00.000
w,1,1,2024-03-01 10:00:00.000

--- query no rows, no results, even without a key
SELECT window_start, COUNT(*), SUM(id)
FROM TABLE(TUMBLE(TABLE Nothing, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end;

--- rows

--- query distinct rows of a window
SELECT window_start, item
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end, item;

--- rows
2024-03-01 08:00:00.000,pen
2024-03-01 08:00:00.000,ink
2024-03-01 08:00:00.000,paper
2024-03-01 09:00:00.000,glue
2024-03-01 09:00:00.000,""
2024-03-01 09:00:00.000,NULL
2024-03-01 10:00:00.000,pen
2024-03-01 11:00:00.000,ink

--- query SELECT DISTINCT with both bounds
SELECT DISTINCT window_start, window_end, shop
FROM TABLE(TUMBLE(TABLE Sales, DESCRIPTOR(ts), INTERVAL '1' HOUR));

--- rows
2024-03-01 08:00:00.000,2024-03-01 09:00:00.000,north
2024-03-01 08:00:00.000,2024-03-01 09:00:00.000,south
2024-03-01 09:00:00.000,2024-03-01 10:00:00.000,NULL
2024-03-01 09:00:00.000,2024-03-01 10:00:00.000,north
2024-03-01 09:00:00.000,2024-03-01 10:00:00.000,south
2024-03-01 10:00:00.000,2024-03-01 11:00:00.000,south
2024-03-01 11:00:00.000,2024-03-01 12:00:00.000,east

