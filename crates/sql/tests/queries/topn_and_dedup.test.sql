-- The first N rows of each key, and one row of each key, without windows: results change.
-- Changes are compared by what is left in the end. Answers: reference/topn_and_dedup.py.
-- Source: Flink's documentation, "Top-N", "Deduplication".
CREATE TABLE Sales (
  id INT, category STRING, product STRING, sales INT, ts TIMESTAMP(3),
  arrived AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
);

--- input Sales
1,fruit,apple,10,2024-06-01 12:00:00.000
2,fruit,pear,30,2024-06-01 12:00:05.000
3,nuts,almond,20,2024-06-01 12:00:03.000
4,fruit,plum,20,2024-06-01 12:00:04.000
5,fruit,apple,40,2024-06-01 12:00:06.000
6,NULL,salt,NULL,2024-06-01 12:00:07.000
7,nuts,almond,20,2024-06-01 12:00:02.000
8,nuts,pecan,NULL,2024-06-01 12:00:08.000
9,NULL,salt,5,2024-06-01 12:00:07.000
10,nuts,walnut,25,2024-06-01 12:00:08.000

--- query top-N without a time to live
SELECT id, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales DESC) AS row_num
  FROM Sales
)
WHERE row_num <= 2;

--- changelog
+I,10,1
+I,2,2
+I,3,2
+I,5,1
+I,6,2
+I,9,1

--- query one row of each key without a time to live
SELECT id
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY ts DESC) AS row_num
  FROM Sales
)
WHERE row_num = 1;

--- changelog
+I,10
+I,5
+I,9

--- set 'table.exec.state.ttl' = '1 h'
--- query the two best of each category, with their places
SELECT category, row_num, id, sales
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales DESC) AS row_num
  FROM Sales
)
WHERE row_num <= 2;

--- changelog
+I,fruit,1,1,10
-U,fruit,1,1,10
+U,fruit,1,2,30
+I,fruit,2,1,10
+I,nuts,1,3,20
-U,fruit,2,1,10
+U,fruit,2,4,20
-U,fruit,1,2,30
+U,fruit,1,5,40
-U,fruit,2,4,20
+U,fruit,2,2,30
+I,NULL,1,6,NULL
+I,nuts,2,7,20
-U,NULL,1,6,NULL
+U,NULL,1,9,5
+I,NULL,2,6,NULL
-U,nuts,1,3,20
+U,nuts,1,10,25
-U,nuts,2,7,20
+U,nuts,2,3,20

--- query the two best, without places
SELECT category, id, sales
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales DESC) AS row_num
  FROM Sales
)
WHERE row_num <= 2;

--- changelog
+I,fruit,1,10
+I,fruit,2,30
+I,nuts,3,20
-D,fruit,1,10
+I,fruit,4,20
-D,fruit,4,20
+I,fruit,5,40
+I,NULL,6,NULL
+I,nuts,7,20
+I,NULL,9,5
-D,nuts,7,20
+I,nuts,10,25

--- query the worst: NULL is smallest
SELECT category, id, sales
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales ASC) AS row_num
  FROM Sales
)
WHERE row_num <= 1;

--- changelog
+I,fruit,1,10
+I,nuts,3,20
+I,NULL,6,NULL
-U,nuts,3,20
+U,nuts,8,NULL

--- query the best of all
SELECT row_num, id, sales
FROM (
  SELECT *, ROW_NUMBER() OVER (ORDER BY sales DESC) AS row_num
  FROM Sales
)
WHERE row_num <= 3;

--- changelog
+I,1,1,10
-U,1,1,10
+U,1,2,30
+I,2,1,10
-U,2,1,10
+U,2,3,20
+I,3,1,10
-U,3,1,10
+U,3,4,20
-U,1,2,30
+U,1,5,40
-U,2,3,20
+U,2,2,30
-U,3,4,20
+U,3,3,20
-U,3,3,20
+U,3,10,25

--- query from the second to the third
SELECT category, row_num, id
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales DESC, id) AS row_num
  FROM Sales
)
WHERE row_num BETWEEN 2 AND 3;

--- changelog
+I,fruit,2,1
-U,fruit,2,1
+U,fruit,2,4
+I,fruit,3,1
-U,fruit,2,4
+U,fruit,2,2
-U,fruit,3,1
+U,fruit,3,4
+I,nuts,2,7
+I,nuts,3,8
+I,NULL,2,6
-U,nuts,2,7
+U,nuts,2,3
-U,nuts,3,8
+U,nuts,3,7

--- query the best of sums, which change themselves
SELECT category, total, row_num
FROM (
  SELECT category, total, ROW_NUMBER() OVER (ORDER BY total DESC, category) AS row_num
  FROM (SELECT category, SUM(sales) AS total FROM Sales GROUP BY category)
)
WHERE row_num <= 2;

--- changelog
+I,fruit,10,1
-D,fruit,10,1
+I,fruit,40,1
+I,nuts,20,2
-U,fruit,40,1
+U,nuts,20,1
-D,nuts,20,2
-U,nuts,20,1
+U,fruit,60,1
+I,nuts,20,2
-U,fruit,60,1
+U,nuts,20,1
-D,nuts,20,2
-U,nuts,20,1
+U,fruit,100,1
+I,nuts,20,2
-U,nuts,20,2
+U,NULL,NULL,2
-U,NULL,NULL,2
+U,nuts,40,2
-U,nuts,40,2
+U,NULL,NULL,2
-U,NULL,NULL,2
+U,nuts,40,2
-U,nuts,40,2
+U,NULL,5,2
-U,NULL,5,2
+U,nuts,65,2

--- query the last row of each product by event time: of equal times the one that came last
SELECT product, id, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY ts DESC) AS row_num
  FROM Sales
)
WHERE row_num = 1;

--- changelog
+I,apple,1,2024-06-01 12:00:00.000
+I,pear,2,2024-06-01 12:00:05.000
+I,almond,3,2024-06-01 12:00:03.000
+I,plum,4,2024-06-01 12:00:04.000
-U,apple,1,2024-06-01 12:00:00.000
+U,apple,5,2024-06-01 12:00:06.000
+I,salt,6,2024-06-01 12:00:07.000
+I,pecan,8,2024-06-01 12:00:08.000
-U,salt,6,2024-06-01 12:00:07.000
+U,salt,9,2024-06-01 12:00:07.000
+I,walnut,10,2024-06-01 12:00:08.000

--- query the first row of each product by event time
SELECT product, id, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY ts ASC) AS row_num
  FROM Sales
)
WHERE row_num = 1;

--- changelog
+I,apple,1,2024-06-01 12:00:00.000
+I,almond,7,2024-06-01 12:00:02.000
+I,plum,4,2024-06-01 12:00:04.000
+I,pear,2,2024-06-01 12:00:05.000
+I,salt,6,2024-06-01 12:00:07.000
+I,pecan,8,2024-06-01 12:00:08.000
+I,walnut,10,2024-06-01 12:00:08.000

--- query the first row of each product by arrival
SELECT product, id
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY arrived ASC) AS row_num
  FROM Sales
)
WHERE row_num = 1;

--- rows
apple,1
pear,2
almond,3
plum,4
salt,6
pecan,8
walnut,10

--- query the last row of each product by arrival
SELECT product, id
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY arrived DESC) AS row_num
  FROM Sales
)
WHERE row_num = 1;

--- changelog
+I,apple,1
+I,pear,2
+I,almond,3
+I,plum,4
-U,apple,1
+U,apple,5
+I,salt,6
-U,almond,3
+U,almond,7
+I,pecan,8
-U,salt,6
+U,salt,9
+I,walnut,10

--- query one row of each key, counted again
SELECT category, COUNT(*), SUM(sales)
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY ts DESC) AS row_num
  FROM Sales
)
WHERE row_num = 1
GROUP BY category;

--- changelog
+I,fruit,1,10
-U,fruit,1,10
+U,fruit,2,40
+I,nuts,1,20
-U,fruit,2,40
+U,fruit,3,60
-U,fruit,3,60
+U,fruit,2,50
-U,fruit,2,50
+U,fruit,3,90
+I,NULL,1,NULL
-U,nuts,1,20
+U,nuts,2,20
-D,NULL,1,NULL
+I,NULL,1,5
-U,nuts,2,20
+U,nuts,3,45

