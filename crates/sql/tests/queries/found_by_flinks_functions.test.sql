-- Scalar expressions of the kinds that Flink's own tests of functions ask, which were answered otherwise once. The rows are
-- those of Flink 2.3.
CREATE TABLE t (n INT, c STRING, ts TIMESTAMP(3), l TIMESTAMP_LTZ(6));

--- input t
1,a_c,2020-01-01 10:00:00.500,2020-01-01 10:00:00.123450Z
2,"",2020-01-01 00:00:00.000,1969-12-31 23:59:59.999999Z
3,NULL,NULL,NULL

--- query JSON of timestamps
SELECT JSON_STRING(ts), JSON_STRING(l), JSON_OBJECT('t' VALUE ts), JSON_ARRAY(l, CAST(ts AS TIMESTAMP(9))), JSON_STRING(ARRAY[ts])
FROM t;

--- rows
"""2020-01-01T10:00:00.5""","""2020-01-01T10:00:00.12345Z""","{""t"":""2020-01-01T10:00:00.5""}","[""2020-01-01T10:00:00.12345Z"",""2020-01-01T10:00:00.5""]","[""2020-01-01T10:00:00.5""]"
"""2020-01-01T00:00:00""","""1969-12-31T23:59:59.999999Z""","{""t"":""2020-01-01T00:00:00""}","[""1969-12-31T23:59:59.999999Z"",""2020-01-01T00:00:00""]","[""2020-01-01T00:00:00""]"
NULL,NULL,"{""t"":null}",[],[null]

--- query JSON of timestamps far from now
SELECT JSON_STRING(TIMESTAMP '0001-01-01 00:00:00'), JSON_STRING(TIMESTAMP '9999-12-31 23:59:59.999999') FROM t WHERE n = 1;

--- rows
"""0001-01-01T00:00:00""","""9999-12-31T23:59:59.999999"""

--- query no JSON of dates
SELECT JSON_STRING(DATE '2020-01-01') FROM t;

--- error TYPE_MISMATCH
JSON_STRING: DATE has no form in JSON

--- query JSON_STRING of JSON
SELECT JSON_STRING(JSON_OBJECT('k' VALUE c)), JSON_STRING(JSON_ARRAY(n, c)), JSON_STRING((JSON_ARRAY())), JSON_STRING(JSON_QUERY('[1]', '$'))
FROM t;

--- rows
"{""k"":""a_c""}","[1,""a_c""]",[],"""[1]"""
"{""k"":""""}","[2,""""]",[],"""[1]"""
"{""k"":null}",[3],[],"""[1]"""

--- query a field with a line at its beginning behind a subscript
SELECT r[1]._2, (r[1])._1, r[1]
  ._1 + n
FROM (SELECT n, ARRAY[CAST(ROW(n, c) AS ROW<_1 INT, _2 STRING>)] AS r FROM t);

--- rows
a_c,1,2
"",2,4
NULL,3,6

--- query a field that there is not behind a subscript
SELECT r[1]._2,
  r[1]._3 FROM (SELECT ARRAY[CAST(ROW(n, c) AS ROW<_1 INT, _2 STRING>)] AS r FROM t);

--- error TYPE_MISMATCH
there is no field `_3`

--- query types of intervals
SELECT CAST(n * INTERVAL '10' HOUR AS INTERVAL DAY), CAST(n * INTERVAL '14' MONTH AS INTERVAL YEAR),
  CAST(INTERVAL '2' DAY AS INTERVAL DAY TO SECOND), CAST(INTERVAL '10:30' HOUR TO MINUTE AS INTERVAL HOUR(3)), CAST(NULL AS INTERVAL DAY)
FROM t;

--- rows
+0 10:00:00.000,+1-02,+2 00:00:00.000,+0 10:30:00.000,NULL
+0 20:00:00.000,+2-04,+2 00:00:00.000,+0 10:30:00.000,NULL
+1 06:00:00.000,+3-06,+2 00:00:00.000,+0 10:30:00.000,NULL

--- query a number as an interval counts milliseconds or months, and a literal counts units
SELECT CAST(n AS INTERVAL YEAR), CAST(n AS INTERVAL DAY), CAST(CAST(n AS BIGINT) AS INTERVAL SECOND), CAST(CAST(5 AS SMALLINT) AS INTERVAL DAY),
  CAST(5 AS INTERVAL DAY), CAST(-5 AS INTERVAL YEAR), CAST(5.5 AS INTERVAL MONTH), CAST(5.5 AS INTERVAL HOUR), CAST(5 AS INTERVAL SECOND(3))
FROM t;

--- rows
+0-01,+0 00:00:00.001,+0 00:00:00.001,+0 00:00:00.005,+5 00:00:00.000,-5-00,+0-05,+0 05:30:00.000,+0 00:00:05.000
+0-02,+0 00:00:00.002,+0 00:00:00.002,+0 00:00:00.005,+5 00:00:00.000,-5-00,+0-05,+0 05:30:00.000,+0 00:00:05.000
+0-03,+0 00:00:00.003,+0 00:00:00.003,+0 00:00:00.005,+5 00:00:00.000,-5-00,+0-05,+0 05:30:00.000,+0 00:00:05.000

--- query a number is no interval of several units
SELECT CAST(n AS INTERVAL DAY TO HOUR) FROM t;

--- error TYPE_MISMATCH
INT is not cast to an interval of several units

--- query nor is a literal
SELECT CAST(5 AS INTERVAL YEAR TO MONTH) FROM t;

--- error SYNTAX
a number is no INTERVAL YEAR TO MONTH: name one unit

--- query there is no interval of months and days
SELECT CAST(n AS INTERVAL MONTH TO DAY) FROM t;

--- error SYNTAX
there is no type INTERVAL MONTH TO DAY

--- query an interval of months is none of days
SELECT CAST(INTERVAL '1' DAY AS INTERVAL MONTH) FROM t;

--- error TYPE_MISMATCH
INTERVAL DAY TO SECOND cannot be cast to INTERVAL YEAR TO MONTH

--- query the greatest of booleans
SELECT ARRAY_MAX(ARRAY[n = 1, n = 2]) FROM t;

--- error TYPE_MISMATCH
values of BOOLEAN have no order

--- query the smallest of rows
SELECT ARRAY_MIN(ARRAY[ROW(n)]) FROM t;

--- error TYPE_MISMATCH
have no order

--- query arrays in order
SELECT ARRAY_SORT(ARRAY[ARRAY[n]]) FROM t;

--- error TYPE_MISMATCH
values of ARRAY<INT> have no order

--- query elements that have an order
SELECT ARRAY_MAX(ARRAY[ts, l]), ARRAY_MIN(ARRAY[x'02', x'01']), ARRAY_SORT(ARRAY[DATE '2020-01-02', DATE '2020-01-01']),
  ARRAY_SORT(ARRAY[c, 'b'])
FROM t;

--- rows
2020-01-01 10:00:00.500000,x'01',"[2020-01-01, 2020-01-02]","[a_c, b]"
2020-01-01 00:00:00.000000,x'01',"[2020-01-01, 2020-01-02]","[, b]"
NULL,x'01',"[2020-01-01, 2020-01-02]","[NULL, b]"

--- query the value before the first
SELECT ELT(-1, c) FROM t;

--- error TYPE_MISMATCH
the first value has index 1

--- query the value before the first by a column
SELECT ELT(n - 2, c, 'x') FROM t;

--- rows
NULL
NULL
NULL

--- query addresses as numbers and back
SELECT INET_ATON('127.0.0.1'), INET_ATON('127.' || CAST(n AS STRING)), INET_ATON('1.2.3.256'), INET_ATON(c), INET_NTOA(2130706432 + n), INET_NTOA(-n)
FROM t;

--- rows
2130706433,2130706433,NULL,NULL,127.0.0.1,NULL
2130706433,2130706434,NULL,NULL,127.0.0.2,NULL
2130706433,2130706435,NULL,NULL,127.0.0.3,NULL
