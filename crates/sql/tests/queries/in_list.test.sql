-- IN with many literals, which are looked up, answers as comparisons with each of them do: NULL is unknown, and what is not found
-- beside a NULL is, too. Answers by hand. Source: SQL:2016, 8.4 (in predicate).
CREATE TABLE T (id INT, b BIGINT, s STRING, d DECIMAL(5, 2), x DOUBLE, dt DATE, ok BOOLEAN);

--- input T
1,1,a,1.50,0.0,2024-01-01,true
2,7,A,2.00,-0.0,2024-01-05,false
3,NULL,NULL,NULL,NULL,NULL,NULL
4,5,"it's",9.99,1.5,2024-02-29,true
5,9223372036854775807,"",0.00,2.5,1969-12-31,false

--- query whole numbers
SELECT id, b IN (1, 3, 5, 9, 11), b NOT IN (1, 3, 5, 9, 11) FROM T;

--- rows
1,TRUE,FALSE
2,FALSE,TRUE
3,NULL,NULL
4,TRUE,FALSE
5,FALSE,TRUE

--- query the greatest of them
SELECT id FROM T WHERE b IN (9223372036854775807, 1, 2, 3);

--- rows
1
5

--- query beside NULL what is not found is unknown
SELECT id, s IN ('a', 'b', 'it''s', 'c', NULL), s NOT IN ('a', 'b', 'it''s', 'c', CAST(NULL AS STRING)) FROM T;

--- rows
1,TRUE,FALSE
2,NULL,NULL
3,NULL,NULL
4,TRUE,FALSE
5,NULL,NULL

--- query only those that are not in the list
SELECT id FROM T WHERE s NOT IN ('a', 'b', 'c', 'd', 'it''s');

--- rows
2
5

--- query computed values, and the empty text
SELECT id FROM T WHERE UPPER(s) IN ('A', 'B', 'C', 'D', '');

--- rows
1
2
5

--- query decimals of other digits, and whole numbers beside them
SELECT id FROM T WHERE d IN (1.5, 2, 3.0, 4.00, 5, 6, 9.990);

--- rows
1
2
4

--- query floats: 0.0 is -0.0
SELECT id FROM T WHERE x IN (0.0E0, 3.5E0, 4.5E0, 2.5E0, 6.5E0);

--- rows
1
2
5

--- query dates
SELECT id FROM T WHERE dt IN (DATE '2024-01-01', DATE '2024-01-02', DATE '1969-12-31', DATE '2024-02-28', DATE '2024-01-03');

--- rows
1
5

--- query literals beside columns
SELECT id FROM T WHERE id IN (2, 3, b, 7, 8);

--- rows
1
2
3

--- query a literal among literals
SELECT 3 IN (1, 2, 3, 4, 5), 6 NOT IN (1, 2, 3, 4, 5), 6 IN (1, 2, 3, 4, NULL), CAST(NULL AS INT) IN (1, 2, 3, 4, 5);

--- rows
TRUE,TRUE,NULL,NULL
