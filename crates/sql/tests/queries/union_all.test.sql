-- UNION ALL: columns by place, names of the first branch, types of both, doubles kept.
CREATE TABLE A (id INT, name STRING, price DECIMAL(6, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' SECOND);
CREATE TABLE B (id BIGINT, title VARCHAR(10), price DECIMAL(8, 1), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' SECOND);

CREATE VIEW Together AS SELECT CAST(id AS BIGINT) AS id, price, ts FROM A UNION ALL SELECT id, CAST(price AS DECIMAL(6, 2)), ts FROM B;

--- input A
1,one,1.25,2024-01-01 00:00:01.000
2,two,2.50,2024-01-01 00:00:12.000
2,two,2.50,2024-01-01 00:00:13.000
NULL,NULL,NULL,2024-01-01 00:00:14.000

--- input B
2,two,2.5,2024-01-01 00:00:05.000
5000000000,many,99.9,2024-01-01 00:00:15.000

--- query doubles are kept, numbers widened, names taken from the first
SELECT id, name AS label FROM A UNION ALL SELECT id, title FROM B;

--- rows
1,one
2,two
2,two
NULL,NULL
2,two
5000000000,many

--- query the names can be used
SELECT label FROM (SELECT id, name AS label FROM A UNION ALL SELECT id, title FROM B) WHERE label LIKE '%n%';

--- rows
one
many

--- query decimals take the digits of both
SELECT price FROM A UNION ALL SELECT price FROM B;

--- rows
1.25
2.50
2.50
NULL
2.50
99.90

--- query a branch with literals, and NULL
SELECT id, 'a' AS source, CAST(NULL AS INT) AS extra FROM A WHERE id = 1 UNION ALL SELECT id, 'bee', 7 FROM B;

--- rows
1,a,NULL
2,bee,7
5000000000,bee,7

--- query three branches, one of them empty
SELECT id FROM A WHERE id > 100 UNION ALL SELECT id FROM B UNION ALL SELECT id FROM A WHERE id = 1;

--- rows
2
5000000000
1

--- query a table with itself
SELECT name FROM A WHERE id = 1 UNION ALL SELECT name FROM A WHERE id <= 2;

--- rows
one
one
two
two

--- query windows over both: the watermark is the lesser of the two
SELECT window_start, COUNT(*), SUM(price)
FROM TABLE(TUMBLE(TABLE Together, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,2,3.75
2024-01-01 00:00:10.000,4,104.90

--- query different numbers of columns
SELECT id, name FROM A UNION ALL SELECT id FROM B;

--- error INVALID
UNION ALL

--- query types without a common one
SELECT id FROM A UNION ALL SELECT title FROM B;

--- error TYPE_MISMATCH
UNION ALL

