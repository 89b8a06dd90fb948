-- Top-N within windows: ROW_NUMBER over the window's columns, filtered by a constant.
-- Rows 7, 10 and 14 are late. Of rows that tie, the one that came first stands first. Answers: reference/window_topn.py.
-- Source: Flink's documentation, "Window Top-N".
CREATE TABLE Clicks (
  id INT, who STRING, page STRING, score INT, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
);

--- input Clicks
1,ann,home,10,2024-06-01 12:00:01.000
2,bea,home,20,2024-06-01 12:00:03.000
3,ann,list,30,2024-06-01 12:00:11.000
4,cat,home,20,2024-06-01 12:00:08.000
5,ann,home,10,2024-06-01 12:00:14.999
6,bea,list,5,2024-06-01 12:00:09.999
7,ann,late,99,2024-06-01 12:00:04.000
8,bea,item,NULL,2024-06-01 12:00:16.000
9,cat,home,40,2024-06-01 12:00:25.000
10,ann,late,98,2024-06-01 12:00:19.999
11,cat,item,40,2024-06-01 12:00:21.000
12,NULL,home,1,2024-06-01 12:00:40.000
13,bea,list,7,2024-06-01 12:01:10.000
14,bea,late,97,2024-06-01 12:00:59.000
15,ann,home,7,2024-06-01 12:01:06.000

--- query the two best of each window
SELECT window_start, id, score, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY score DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num <= 2;

--- rows
2024-06-01 12:00:00.000,2,20,1
2024-06-01 12:00:00.000,4,20,2
2024-06-01 12:00:10.000,3,30,1
2024-06-01 12:00:10.000,5,10,2
2024-06-01 12:00:20.000,9,40,1
2024-06-01 12:00:20.000,11,40,2
2024-06-01 12:00:40.000,12,1,1
2024-06-01 12:01:10.000,13,7,1
2024-06-01 12:01:00.000,15,7,1

--- query the worst of each window, without its number
SELECT id, who, score, window_end
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY score ASC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num <= 1;

--- rows
1,ann,10,2024-06-01 12:00:10.000
8,bea,NULL,2024-06-01 12:00:20.000
9,cat,40,2024-06-01 12:00:30.000
12,NULL,1,2024-06-01 12:00:50.000
13,bea,7,2024-06-01 12:01:20.000
15,ann,7,2024-06-01 12:01:10.000

--- query equality with one
SELECT id, score, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY score DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num = 1;

--- rows
2,20,1
3,30,1
9,40,1
12,1,1
13,7,1
15,7,1

--- query by key
SELECT who, id, score
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, who ORDER BY score DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num <= 1;

--- rows
ann,1,10
bea,2,20
ann,3,30
cat,4,20
bea,8,NULL
cat,9,40
NULL,12,1
bea,13,7
ann,15,7

--- query ordered by several columns
SELECT id, page, score, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY page ASC, score DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num < 3;

--- rows
2,home,20,1
4,home,20,2
5,home,10,1
8,item,NULL,2
9,home,40,1
11,item,40,2
12,home,1,1
13,list,7,1
15,home,7,1

--- query a range of numbers
SELECT id, score, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY score DESC, id) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num >= 2 AND row_num <= 3;

--- rows
4,20,2
1,10,3
5,10,2
8,NULL,3
11,40,2

--- query more than there are
SELECT id, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY id) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num <= 100;

--- rows
1,1
2,2
4,3
3,1
5,2
8,3
9,1
11,2
12,1
13,1
15,1

--- query top-N of a window aggregate: the documentation's first example
SELECT window_start, who, clicks, total, row_num
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY clicks DESC, who) AS row_num
  FROM (
    SELECT window_start, window_end, who, COUNT(*) AS clicks, SUM(score) AS total
    FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end, who
  )
)
WHERE row_num <= 2;

--- rows
2024-06-01 12:00:00.000,ann,1,10,1
2024-06-01 12:00:00.000,bea,1,20,2
2024-06-01 12:00:10.000,ann,2,40,1
2024-06-01 12:00:10.000,bea,1,NULL,2
2024-06-01 12:00:20.000,cat,2,80,1
2024-06-01 12:00:40.000,NULL,1,1,1
2024-06-01 12:01:10.000,bea,1,7,1
2024-06-01 12:01:00.000,ann,1,7,1

--- query of sliding windows
SELECT window_start, id, score
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY score DESC, id) AS row_num
  FROM TABLE(HOP(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND))
)
WHERE row_num <= 1;

--- rows
2024-06-01 12:00:00.000,7,99
2024-06-01 11:59:50.000,2,20
2024-06-01 12:00:10.000,10,98
2024-06-01 12:00:20.000,9,40
2024-06-01 12:00:40.000,12,1
2024-06-01 12:00:30.000,12,1
2024-06-01 12:01:10.000,13,7
2024-06-01 12:01:00.000,13,7
2024-06-01 12:00:50.000,14,97

