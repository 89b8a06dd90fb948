-- What is refused, and how: the code, and a part of the message. Nothing of this runs, but where a division or cast fails.
CREATE TABLE Orders (
  id INT, buyer STRING, amount INT, price DECIMAL(8, 2), is_paid BOOLEAN, day_of DATE, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
);
CREATE TABLE Plain (id INT, buyer STRING, at_time TIMESTAMP(3), `value` INT);

--- input Orders
1,ann,3,1.50,true,2024-01-01,2024-01-01 00:00:00.000

--- input Plain
1,ann,2024-01-01 00:00:00.000,7

--- query unknown table
SELECT * FROM Nowhere;

--- error UNKNOWN_TABLE
Nowhere

--- query names of tables have a case
SELECT * FROM orders;

--- error UNKNOWN_TABLE
orders

--- query unknown table in a join
SELECT 1 FROM Orders o JOIN Nowhere n ON o.id = n.id;

--- error UNKNOWN_TABLE
Nowhere

--- query unknown table in a sub-query
SELECT id FROM Orders WHERE id IN (SELECT id FROM Nowhere);

--- error UNKNOWN_TABLE
Nowhere

--- query unknown table in a window function
SELECT * FROM TABLE(TUMBLE(TABLE Nowhere, DESCRIPTOR(ts), INTERVAL '1' MINUTE));

--- error UNKNOWN_TABLE
Nowhere

--- query unknown column
SELECT id, buyers FROM Orders;

--- error UNKNOWN_COLUMN
buyers

--- query names of columns have a case
SELECT ID FROM Orders;

--- error UNKNOWN_COLUMN
ID

--- query unknown column of a table
SELECT o.nothing FROM Orders o;

--- error UNKNOWN_COLUMN
nothing

--- query a table that has another name here
SELECT Orders.id FROM Orders AS o;

--- error UNKNOWN_TABLE
Orders

--- query an alias of the same SELECT is not known in WHERE
SELECT id AS number_of FROM Orders WHERE number_of > 1;

--- error UNKNOWN_COLUMN
number_of

--- query unknown column in a condition
SELECT id FROM Orders WHERE buyr = 'ann';

--- error UNKNOWN_COLUMN
buyr

--- query unknown column in DESCRIPTOR
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(nothing), INTERVAL '1' MINUTE));

--- error UNKNOWN_COLUMN
nothing

--- query a window's column without a window function
SELECT window_start FROM Orders;

--- error UNKNOWN_COLUMN
window_start

--- query text in double quotes is a name to nobody
SELECT "id" FROM Orders WHERE buyer = "ann";

--- error SYNTAX
"

--- query unknown function
SELECT NO_SUCH_FUNCTION(id) FROM Orders;

--- error UNKNOWN_FUNCTION
NO_SUCH_FUNCTION

--- query a function of another dialect
SELECT DATE_TRUNC('day', ts) FROM Orders;

--- error UNKNOWN_FUNCTION
DATE_TRUNC

--- query an unknown window function
SELECT * FROM TABLE(TUMBLING(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE));

--- error UNKNOWN_FUNCTION
TUMBLING

--- query a number is not compared with text
SELECT id FROM Orders WHERE id = 'one';

--- error TYPE_MISMATCH
id

--- query nor with a column of text
SELECT id FROM Orders WHERE id = buyer;

--- error TYPE_MISMATCH
buyer

--- query a number in a list of text
SELECT id FROM Orders WHERE buyer IN ('ann', 5);

--- error TYPE_MISMATCH
buyer

--- query a number and text have no common type
SELECT COALESCE(id, buyer) FROM Orders;

--- error TYPE_MISMATCH
COALESCE

--- query a number is not joined to text
SELECT id || buyer FROM Orders;

--- error TYPE_MISMATCH
||

--- query text has no arithmetic
SELECT id + buyer FROM Orders;

--- error TYPE_MISMATCH
+

--- query text has no sign
SELECT -buyer FROM Orders;

--- error TYPE_MISMATCH
-

--- query booleans have no arithmetic
SELECT is_paid + 1 FROM Orders;

--- error TYPE_MISMATCH
+

--- query a number is no condition
SELECT id FROM Orders WHERE amount;

--- error TYPE_MISMATCH
WHERE

--- query NOT takes conditions
SELECT NOT amount FROM Orders;

--- error TYPE_MISMATCH
NOT

--- query AND takes conditions
SELECT id FROM Orders WHERE is_paid AND buyer;

--- error TYPE_MISMATCH
AND

--- query branches of CASE have one type
SELECT CASE WHEN is_paid THEN id ELSE ts END FROM Orders;

--- error TYPE_MISMATCH
CASE

--- query a timestamp plus a number
SELECT ts + 1 FROM Orders;

--- error TYPE_MISMATCH
+

--- query a timestamp against a number
SELECT id FROM Orders WHERE ts > 5;

--- error TYPE_MISMATCH
ts

--- query a sum of text
SELECT SUM(buyer) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error TYPE_MISMATCH
SUM

--- query a mean of booleans
SELECT AVG(is_paid) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error TYPE_MISMATCH
AVG

--- query LIKE is for text
SELECT id FROM Orders WHERE amount LIKE '3%';

--- error TYPE_MISMATCH
LIKE

--- query a function for text
SELECT UPPER(amount) FROM Orders;

--- error TYPE_MISMATCH
UPPER

--- query a cast that there is not
SELECT CAST(is_paid AS DATE) FROM Orders;

--- error TYPE_MISMATCH
DATE

--- query a join over different types
SELECT 1 FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) a JOIN TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) b ON a.id = b.buyer AND a.window_start = b.window_start AND a.window_end = b.window_end;

--- error TYPE_MISMATCH
buyer

--- query too few arguments
SELECT MOD(id) FROM Orders;

--- error INVALID
MOD

--- query too many arguments
SELECT UPPER(buyer, 'x') FROM Orders;

--- error INVALID
UPPER

--- query a column that is not a key
SELECT buyer, id, COUNT(*) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, buyer;

--- error INVALID
id

--- query places are no keys
SELECT buyer, COUNT(*) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, 1;

--- error UNSUPPORTED
positions

--- query an aggregate in WHERE
SELECT id FROM Orders WHERE COUNT(*) > 1;

--- error INVALID
WHERE

--- query an aggregate of an aggregate
SELECT SUM(COUNT(*)) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

--- error INVALID
SUM

--- query a name that two tables have
SELECT id FROM Orders o, Plain p WHERE o.id = p.id;

--- error INVALID
id

--- query a window's column that there was before
SELECT window_start FROM TABLE(TUMBLE((SELECT ts, window_start FROM (SELECT ts, id AS window_start FROM Orders)), DESCRIPTOR(ts), INTERVAL '1' MINUTE));

--- error INVALID
window_start

--- query windows of a time without a watermark
SELECT * FROM TABLE(TUMBLE(TABLE Plain, DESCRIPTOR(at_time), INTERVAL '1' MINUTE));

--- error INVALID
at_time

--- query windows of no time
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(buyer), INTERVAL '1' MINUTE));

--- error INVALID
buyer

--- query a time that was computed with is none any more
SELECT * FROM TABLE(TUMBLE((SELECT id, ts + INTERVAL '1' HOUR AS later FROM Orders), DESCRIPTOR(later), INTERVAL '1' MINUTE));

--- error INVALID
later

--- query a window without a size
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts)));

--- error INVALID
TUMBLE

--- query a window of no size
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '0' SECOND));

--- error INVALID
TUMBLE

--- query a window of a size that is a number
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), 10));

--- error INVALID
TUMBLE

--- query a window of months
SELECT * FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MONTH));

--- error INVALID
TUMBLE

--- query a size that is no multiple of the slide
SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE Orders, DESCRIPTOR(ts), INTERVAL '3' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

--- error INVALID
HOP

--- query a size that is no multiple of the step
SELECT window_start, COUNT(*) FROM TABLE(CUMULATE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '3' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

--- error INVALID
CUMULATE

--- query rows of VALUES have one length
SELECT * FROM (VALUES (1, 'a'), (2)) AS t (a, b);

--- error INVALID
VALUES

--- query a list of one column is asked of a sub-query
SELECT id FROM Orders WHERE id IN (SELECT id, amount FROM Orders);

--- error INVALID
IN

--- query a day that does not exist
SELECT DATE '2024-13-45' FROM Orders;

--- error INVALID
2024-13-45

--- query nothing is selected
SELECT FROM Orders;

--- error SYNTAX
FROM

--- query a comma too many
SELECT id, FROM Orders;

--- error SYNTAX
FROM

--- query a parenthesis that is not closed
SELECT (id + 1 FROM Orders;

--- error SYNTAX
FROM

--- query a word that does not belong there
SELECT id FORM Orders, Plain;

--- error SYNTAX
Orders

--- query CASE without END
SELECT CASE WHEN is_paid THEN 1 ELSE 2 FROM Orders;

--- error SYNTAX
expected END, found FROM

--- query a reserved word as a name
SELECT value FROM Plain;

--- error SYNTAX
value

--- query a reserved word as an alias
SELECT id AS order FROM Plain;

--- error SYNTAX
order

--- query an interval of another dialect
SELECT ts + INTERVAL '1 day' FROM Orders;

--- error SYNTAX
INTERVAL

--- query groups by a bound of the window only
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start;

--- changelog
+I,2024-01-01 00:00:00.000,1

--- query an order without end
SELECT id FROM Orders ORDER BY amount;

--- error UNSUPPORTED
ORDER BY

--- query ranks without an order
SELECT id, RANK() OVER (PARTITION BY buyer) AS place_of FROM Orders;

--- error UNSUPPORTED
RANK

--- query patterns of rows
SELECT * FROM Orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a_id PATTERN (A B) DEFINE A AS A.amount > 1);

--- error UNSUPPORTED
MATCH_RECOGNIZE

--- query updates
UPDATE Orders SET amount = 1 WHERE id = 1;

--- error UNSUPPORTED
UPDATE

--- query deletes
DELETE FROM Orders WHERE id = 1;

--- error UNSUPPORTED
DELETE

--- query truncation
TRUNCATE TABLE Orders;

--- error UNSUPPORTED
TRUNCATE

--- query grants, and other words of other systems
GRANT ALL ON Orders TO ann;

--- error UNSUPPORTED
GRANT

