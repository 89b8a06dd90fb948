-- Projection and WHERE: columns, aliases, expressions, precedence, comparisons, membership, quoted names.
CREATE TABLE Orders (
  id INT,
  buyer STRING,
  product STRING,
  amount INT,
  price DECIMAL(8, 2),
  ordered_at TIMESTAMP(3),
  is_paid BOOLEAN,
  `value` BIGINT,
  `Order Note` STRING
);

--- input Orders
1,alice,pen,3,1.50,2024-01-01 09:00:00.000,true,100,first
2,bob,ink,1,12.00,2024-01-01 10:30:00.000,false,-5,"a, b"
3,alice,paper,500,0.01,2024-01-02 00:00:00.000,true,0,"said ""no"""
4,carol,pen,NULL,1.50,2024-01-02 23:59:59.999,NULL,9223372036854775807,""
5,NULL,ink,2,NULL,NULL,true,NULL,NULL
6,Bob,glue,-4,3.25,1969-12-31 23:59:59.999,false,7,"NULL"

--- query every column
SELECT * FROM Orders;

--- rows
1,alice,pen,3,1.50,2024-01-01 09:00:00.000,TRUE,100,first
2,bob,ink,1,12.00,2024-01-01 10:30:00.000,FALSE,-5,"a, b"
3,alice,paper,500,0.01,2024-01-02 00:00:00.000,TRUE,0,"said ""no"""
4,carol,pen,NULL,1.50,2024-01-02 23:59:59.999,NULL,9223372036854775807,""
5,NULL,ink,2,NULL,NULL,TRUE,NULL,NULL
6,Bob,glue,-4,3.25,1969-12-31 23:59:59.999,FALSE,7,"NULL"

--- query rows keep their order when nothing is keyed
SELECT id FROM Orders WHERE id <> 4;

--- rows ordered
1
2
3
5
6

--- query columns in another order, one of them twice, with aliases
SELECT o.product AS what, o.id, o.id AS again FROM Orders AS o WHERE o.id <= 2;

--- rows
pen,1,1
ink,2,2

--- query a star of one table beside an expression
SELECT o.id + 100 AS shifted, o.* FROM Orders o WHERE o.id = 2;

--- rows
102,2,bob,ink,1,12.00,2024-01-01 10:30:00.000,FALSE,-5,"a, b"

--- query multiplication binds tighter than addition, and minus tightest
SELECT id, amount * 2 + 1, amount * (2 + 1), -amount, - amount + 10, amount - 1 - 1 FROM Orders WHERE id < 4;

--- rows
1,7,9,-3,7,1
2,3,3,-1,9,-1
3,1001,1500,-500,-490,498

--- query literals as columns
SELECT id, 'text', 42, TRUE, 1.50, 'it''s' FROM Orders WHERE id = 1;

--- rows
1,text,42,TRUE,1.50,it's

--- query AND binds tighter than OR
SELECT id FROM Orders WHERE product = 'ink' OR product = 'pen' AND buyer = 'carol';

--- rows
2
4
5

--- query parentheses change that
SELECT id FROM Orders WHERE (product = 'ink' OR product = 'pen') AND buyer = 'carol';

--- rows
4

--- query NOT binds tighter than AND
SELECT id FROM Orders WHERE NOT product = 'pen' AND amount > 0;

--- rows
2
3
5

--- query text is compared with case, and by code points
SELECT id FROM Orders WHERE buyer < 'a' OR buyer = 'bob';

--- rows
2
6

--- query BETWEEN includes both ends
SELECT id FROM Orders WHERE amount BETWEEN 1 AND 3;

--- rows
1
2
5

--- query NOT BETWEEN leaves NULLs out
SELECT id FROM Orders WHERE amount NOT BETWEEN 1 AND 3;

--- rows
3
6

--- query BETWEEN with its ends turned round is empty
SELECT id FROM Orders WHERE amount BETWEEN 3 AND 1;

--- rows

--- query IN and NOT IN a list
SELECT id, product IN ('pen', 'ink'), amount NOT IN (1, 2, 3) FROM Orders;

--- rows
1,TRUE,FALSE
2,TRUE,FALSE
3,FALSE,TRUE
4,TRUE,NULL
5,TRUE,FALSE
6,FALSE,TRUE

--- query a boolean column is a condition
SELECT id FROM Orders WHERE is_paid;

--- rows
1
3
5

--- query its negation is not its complement
SELECT id FROM Orders WHERE NOT is_paid;

--- rows
2
6

--- query a comparison of numbers of different types
SELECT id FROM Orders WHERE price > 1 AND amount < 2.5;

--- rows
2
6

--- query timestamps against literals
SELECT id FROM Orders
WHERE ordered_at >= TIMESTAMP '2024-01-01 10:30:00' AND ordered_at < TIMESTAMP '2024-01-02 23:59:59.999';

--- rows
2
3

--- query reserved words and blanks in quoted names
SELECT `value`, `Order Note` AS `my note` FROM Orders WHERE `value` < 0;

--- rows
-5,"a, b"

--- query the empty string, the text NULL and NULL are three things
SELECT id, `Order Note` = '', `Order Note` = 'NULL', `Order Note` IS NULL FROM Orders WHERE id >= 4;

--- rows
4,TRUE,FALSE,FALSE
5,NULL,NULL,TRUE
6,FALSE,TRUE,FALSE

--- query a condition that nothing meets
SELECT * FROM Orders WHERE 1 = 0;

--- rows

--- query keywords in any case, and a comment within
select ID_ from (SeLeCt id as ID_ FROM Orders) -- not a name
/* nor
   this */ wHeRe ID_ = 3;

--- rows
3
