-- Table functions of a program. The functions stand in registered.rs. Answers follow Flink's documentation, "Joins", section "Table Function".
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (a INT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE u (n INT, name STRING);
CREATE TABLE c (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('format' = 'debezium-json');

--- input t
2,"x y",2024-01-01 00:00:01.000
0,"",2024-01-01 00:00:02.000
NULL,NULL,2024-01-01 00:00:12.000
1,"long",2024-01-01 00:00:14.000

--- input u
1,one
2,two

--- input c
+I,1,1
+I,2,2
-U,1,1
+U,1,3
-D,2,2
+I,3,0

--- query a list of tables: 0, 1 and many rows for a row
SELECT a, n FROM t, LATERAL TABLE(series(t.a)) AS x (n);

--- rows
2,1
2,2
1,1

--- query CROSS JOIN, with the names of the function
SELECT a, n, x.n FROM t CROSS JOIN LATERAL TABLE(SERIES(a)) AS x;

--- rows
2,1,1
2,2,2
1,1,1

--- query JOIN ON TRUE
SELECT a, word, length FROM t JOIN LATERAL TABLE(words(s, ' ')) ON TRUE;

--- rows
2,x,1
2,y,1
NULL,NULL,NULL
1,long,4

--- query LEFT JOIN keeps rows without rows
SELECT a, w, l FROM t LEFT JOIN LATERAL TABLE(words(s, ' ')) AS x (w, l) ON TRUE;

--- rows
2,x,1
2,y,1
0,NULL,NULL
NULL,NULL,NULL
1,long,4

--- query a condition of an inner join
SELECT a, n FROM t JOIN LATERAL TABLE(series(a)) AS x (n) ON n < a;

--- rows
2,1

--- query types of columns
SELECT TYPEOF(x.n), TYPEOF(y.n) FROM t CROSS JOIN LATERAL TABLE(series(a)) AS x LEFT JOIN LATERAL TABLE(series(x.n)) AS y ON TRUE WHERE a = 1;

--- rows
INT NOT NULL,INT

--- query constants
SELECT * FROM TABLE(series(3));

--- rows
1
2
3

--- query constants without TABLE, and with another name
SELECT x.m + 1 FROM series(2) AS x (m);

--- rows
2
3

--- query no rows
SELECT * FROM TABLE(series(0));

--- rows

--- query an expression of constants, joined
SELECT name FROM u JOIN TABLE(series(1 + 0)) AS x (m) ON u.n = x.m;

--- changelog
+I,one

--- query constants in LATERAL
SELECT a, m FROM t, LATERAL TABLE(series(2)) AS x (m) WHERE a > 0;

--- rows
2,1
2,2
1,1
1,2

--- query more rows than a batch holds
SELECT COUNT(*), SUM(n), MAX(n) FROM (SELECT n FROM t, LATERAL TABLE(series(a * 10000)) AS x (n)) AS w;

--- changelog
+I,30000,250015000,20000

--- query several functions after each other
SELECT x.n, y.n, word FROM t, LATERAL TABLE(series(a)) AS x, LATERAL TABLE(series(x.n)) AS y, LATERAL TABLE(words(s, 'o')) AS w WHERE a = 1 OR y.n = 2;

--- rows
1,1,l
1,1,ng
2,2,x y

--- query scalar and table functions
SELECT shout(word) FROM t, LATERAL TABLE(words(shout(s), ' ')) AS x WHERE plus_one(length) > 2;

--- rows
y!!
NULL!!
long!!

--- query a group
SELECT a, SUM(n) FROM t, LATERAL TABLE(series(a)) AS x GROUP BY a;

--- changelog
+I,2,3
+I,1,1

--- query a window keeps its time
SELECT window_start, COUNT(*), MAX(word) FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

--- error UNKNOWN_TABLE
w

--- query a window over a query with a table function
WITH w AS (SELECT word, ts FROM t, LATERAL TABLE(words(s, ' ')) AS x)
SELECT window_start, COUNT(*), MAX(word) FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;

--- rows
2024-01-01 00:00:00.000,2,y
2024-01-01 00:00:10.000,2,long

--- query OVER
SELECT word, SUM(length) OVER (ORDER BY ts) FROM t, LATERAL TABLE(words(s, ' ')) AS x;

--- rows
x,2
y,2
NULL,2
long,6

--- query rows that change
SELECT k, n FROM c, LATERAL TABLE(series(v)) AS x;

--- changelog
+I,1,1
+I,1,2
+I,1,3

--- query rows that change, padded
SELECT k, n FROM c LEFT JOIN LATERAL TABLE(series(v)) AS x ON TRUE;

--- changelog
+I,1,1
+I,1,2
+I,1,3
+I,3,NULL

--- query rows that change, counted
SELECT n, COUNT(*) FROM c, LATERAL TABLE(series(v)) AS x GROUP BY n;

--- changelog
+I,1,1
+I,2,1
+I,3,1

--- query a function that is not deterministic
SELECT x FROM t, LATERAL TABLE(drawn(a)) AS d WHERE a > 0;

--- rows
2
1

--- query a function that is not deterministic, over rows that change
SELECT x FROM c, LATERAL TABLE(drawn(v)) AS d;

--- error UNSUPPORTED
a table function takes rows that

--- query a star has the columns of the row first
SELECT * FROM u, LATERAL TABLE(series(u.n)) AS x (m) WHERE m = 2;

--- rows
2,two,2

--- query the columns before it are read behind LATERAL only
SELECT a, n FROM t, TABLE(series(a)) AS x (n);

--- error UNKNOWN_COLUMN
there is no column `a`

--- query a condition of LEFT JOIN
SELECT a, n FROM t LEFT JOIN LATERAL TABLE(series(a)) AS x (n) ON n > 1;

--- error UNSUPPORTED
a condition of LEFT JOIN LATERAL TABLE other than TRUE

--- query RIGHT JOIN
SELECT a, n FROM t RIGHT JOIN LATERAL TABLE(series(a)) AS x (n) ON TRUE;

--- error UNSUPPORTED
RIGHT or FULL JOIN with LATERAL TABLE

--- query WITH ORDINALITY
SELECT a FROM t, LATERAL series(a) WITH ORDINALITY AS x (n, o);

--- error UNSUPPORTED
WITH ORDINALITY

--- query LATERAL without TABLE
SELECT a, n FROM t, LATERAL series(a) AS x (n);

--- rows
2,1
2,2
1,1

--- query a scalar function in FROM
SELECT * FROM t, LATERAL TABLE(plus_one(a)) AS x;

--- error INVALID
PLUS_ONE is no table function

--- query a table function as a value
SELECT series(a) FROM t;

--- error INVALID
SERIES is a table function

--- query an unknown function
SELECT * FROM t, LATERAL TABLE(sers(a)) AS x;

--- error UNKNOWN_FUNCTION
there is no table function SERS

--- query a wrong number of names
SELECT * FROM t, LATERAL TABLE(series(a)) AS x (n, m);

--- error INVALID
the list names 2 columns

--- query a panic
SELECT n FROM t, LATERAL TABLE(series(1300)) AS x;

--- error USER_FUNCTION
the user function SERIES panicked: 1300 rows are too many

--- query wrong counts
SELECT n FROM t, LATERAL TABLE(wrong_series(a)) AS x;

--- error USER_FUNCTION
the user function WRONG_SERIES returned for the column `n`
