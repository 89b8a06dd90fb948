-- You will learn: JSON lines with objects and lists in them, as rows and arrays.
-- Run it:    thalweg run examples/08_json.sql
-- Portable:  yes
--
-- A field that is missing is NULL, and so are the fields of an object that is. Fields that no column is declared for are passed
-- over. Lists count from 1.
--
-- Expected:
--   name,page,tag_count,first_tag,took_ms,error
--   Zoë,/,2,new,12.0,NULL
--   Ivo,/shop,0,NULL,48.5,NULL
--   Zoë,/shop,1,mobile,31.0,NULL
--   Ivo,/pay,1,new,220.25,card refused

CREATE TABLE visits (
  `at` TIMESTAMP(3),
  `user` ROW<id BIGINT, name STRING>,
  path STRING,
  tags ARRAY<STRING>,
  took_ms DOUBLE,
  error STRING
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/visits.json',
  'format' = 'json'
);

SELECT
  `user`.name AS name,
  SPLIT_INDEX(path, '?', 0) AS page,
  CARDINALITY(tags) AS tag_count,
  tags[1] AS first_tag,
  took_ms,
  error
FROM visits
WHERE `user`.id IS NOT NULL;
