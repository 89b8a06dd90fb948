-- The first or last row of each window and key: ROW_NUMBER ordered by the time, of which the first is kept.
-- Rows 7, 10 and 14 are late. Answers: reference/window_dedup.py. Source: Flink's documentation, "Window Deduplication".
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

--- query the last row of each window and key
SELECT id, who, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, who ORDER BY ts DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num = 1;

--- rows
1,ann,2024-06-01 12:00:01.000
2,bea,2024-06-01 12:00:03.000
5,ann,2024-06-01 12:00:14.999
4,cat,2024-06-01 12:00:08.000
8,bea,2024-06-01 12:00:16.000
9,cat,2024-06-01 12:00:25.000
12,NULL,2024-06-01 12:00:40.000
13,bea,2024-06-01 12:01:10.000
15,ann,2024-06-01 12:01:06.000

--- query the first row of each window and key
SELECT id, who, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, who ORDER BY ts ASC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num = 1;

--- rows
1,ann,2024-06-01 12:00:01.000
2,bea,2024-06-01 12:00:03.000
3,ann,2024-06-01 12:00:11.000
4,cat,2024-06-01 12:00:08.000
8,bea,2024-06-01 12:00:16.000
11,cat,2024-06-01 12:00:21.000
12,NULL,2024-06-01 12:00:40.000
13,bea,2024-06-01 12:01:10.000
15,ann,2024-06-01 12:01:06.000

--- query the last row of each window
SELECT window_start, id, page
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY ts DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num = 1;

--- rows
2024-06-01 12:00:00.000,4,home
2024-06-01 12:00:10.000,8,item
2024-06-01 12:00:20.000,9,home
2024-06-01 12:00:40.000,12,home
2024-06-01 12:01:10.000,13,list
2024-06-01 12:01:00.000,15,home

--- query the first by two keys
SELECT id, who, page, window_end
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, who, page ORDER BY ts) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num = 1;

--- rows
1,ann,home,2024-06-01 12:00:10.000
2,bea,home,2024-06-01 12:00:10.000
3,ann,list,2024-06-01 12:00:20.000
4,cat,home,2024-06-01 12:00:10.000
5,ann,home,2024-06-01 12:00:20.000
8,bea,item,2024-06-01 12:00:20.000
9,cat,home,2024-06-01 12:00:30.000
11,cat,item,2024-06-01 12:00:30.000
12,NULL,home,2024-06-01 12:00:50.000
13,bea,list,2024-06-01 12:01:20.000
15,ann,home,2024-06-01 12:01:10.000

--- query written with at most one
SELECT page, id
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, page ORDER BY ts DESC) AS row_num
  FROM TABLE(TUMBLE(TABLE Clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
)
WHERE row_num <= 1;

--- rows
home,4
list,3
home,5
item,8
home,9
item,11
home,12
list,13
home,15

