-- How words, texts and signs are read: texts that are continued, which operator binds first, and what is refused as Flink refuses it.
-- Answers by hand. Source: Calcite's grammar, by way of Flink 2.3.
CREATE TABLE T (k INT, s STRING, b BOOLEAN, c INT);

--- input T
1,a,FALSE,6
2,ab,TRUE,5

--- query a text that is continued on lines below
SELECT 'a'
  'b' -- behind which something is said

  'it''s', s = 'a'
  'b' FROM T;

--- rows
abit's,FALSE
abit's,TRUE

--- query a text behind another on its line
SELECT 'a' 'b' FROM T;

--- error SYNTAX
the text 'b' follows another

--- query a text is no name
SELECT k 'x' FROM T;

--- error SYNTAX
'x' is text and no name

--- query a text is no name, behind AS
SELECT k AS 'x' FROM T;

--- error SYNTAX
'x' is text and no name

--- query a number of sixteen digits
SELECT 0x10 FROM T;

--- error SYNTAX
0x10 is no number

--- query bytes
SELECT x'10', X'' FROM T WHERE k = 1;

--- rows
x'10',x''

--- query IN binds before a comparison
SELECT k, b = (c = 5) IN (TRUE, FALSE), b = k IN (2, 3), b <> k NOT IN (1), k IN (1) = b FROM T;

--- rows
1,FALSE,TRUE,FALSE,FALSE
2,TRUE,TRUE,FALSE,FALSE

--- query BETWEEN binds before a comparison
SELECT k, b = b BETWEEN FALSE AND TRUE, b = k BETWEEN 2 AND 3, k + 1 BETWEEN 1 + 1 AND 2 = b FROM T;

--- rows
1,FALSE,TRUE,FALSE
2,TRUE,TRUE,FALSE

--- query LIKE binds before a comparison
SELECT k, b = s LIKE 'a_', s LIKE 'a_' = b, s SIMILAR TO 'ab?' = b, s || 'c' LIKE '%bc' = b FROM T;

--- rows
1,TRUE,TRUE,FALSE,TRUE
2,TRUE,TRUE,TRUE,TRUE

--- query IS binds behind a comparison
SELECT k, c = 5 IS TRUE, NOT c = 5 IS FALSE, k = 1 AND c = 6 IS NULL FROM T;

--- rows
1,FALSE,FALSE,FALSE
2,TRUE,TRUE,FALSE

--- query the opposite of an interval
SELECT TIMESTAMP '2024-01-02 00:00:00' + -INTERVAL '1' DAY, TIMESTAMP '2024-01-02 00:00:00' - (-(INTERVAL -'2' HOUR)), DATE '2024-03-31' + -INTERVAL '1' MONTH
FROM T WHERE k = 1;

--- rows
2024-01-01 00:00:00,2024-01-01 22:00:00,2024-02-29

--- query NULL among numbers
SELECT a * 2000000000 FROM (VALUES (NULL), (3)) AS t (a);

--- rows
NULL
1705032704

--- query no operator of that sign
SELECT k == 1 FROM T;

--- error SYNTAX
there is no operator ==

--- query no operator of that word
SELECT k DIV 2 FROM T;

--- error SYNTAX
there is no operator DIV

--- query AND of a number
SELECT k AND TRUE FROM T;

--- error TYPE_MISMATCH
AND and OR take conditions

--- query an array without its word
SELECT [1, 2] FROM T;

--- error UNSUPPORTED
[..] is not supported

--- query text with escapes
SELECT E'a\nb' FROM T;

--- rows
"a
b"
"a
b"
