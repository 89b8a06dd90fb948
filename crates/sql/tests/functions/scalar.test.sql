-- Scalar functions of a program. The functions stand in registered.rs. Answers follow Flink's documentation, "User-defined Functions".
SET 'table.exec.state.ttl' = '1 d';
CREATE TABLE t (a BIGINT, i INT, s STRING, d DECIMAL(5, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE TABLE u (a BIGINT, n STRING);
CREATE TABLE c (k INT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('format' = 'debezium-json');
CREATE TABLE made (a BIGINT, b AS plus_one(a), ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE VIEW v AS SELECT plus_one(a) AS b, shout(s) AS loud FROM t;

--- input t
1,1,p,1.50,2024-01-01 00:00:01.000
2,2,NULL,2.25,2024-01-01 00:00:02.000
NULL,3,q,NULL,2024-01-01 00:00:12.000
4,4,p,4.00,2024-01-01 00:00:14.000

--- input u
2,two
3,three
5,five

--- input c
+I,1,10
+I,2,20
-U,1,10
+U,1,11
-D,2,20
+I,3,30

--- input made
1,2024-01-01 00:00:01.000
7,2024-01-01 00:00:02.000

--- query a name in any case, an argument that is widened, and a constant
SELECT PLUS_ONE(a), Plus_One(i), `plus_one`(41) FROM t;

--- rows
2,2,42
3,3,42
NULL,4,42
5,5,42

--- query NULL is for the function to decide
SELECT shout(s), shout('a'), shout(CAST(NULL AS STRING)) FROM t WHERE i < 3;

--- rows
p!,a!,NULL!
NULL!,a!,NULL!

--- query the type of the result is of the signature
SELECT TYPEOF(same(d)), TYPEOF(same(ARRAY[1, 2])), TYPEOF(shout('a')), TYPEOF(pair(1, 'x')) FROM t WHERE i = 1;

--- rows
"DECIMAL(5, 2)",ARRAY<INT> NOT NULL,STRING NOT NULL,"ROW<`number` BIGINT, `text` STRING> NOT NULL"

--- query values of all kinds pass
SELECT same(d), same(ts), same(ARRAY[1, i]), same(MAP['a', i]), same(pair(a, s)), same(s), same(i > 1), same(X'01'), same(DATE '2024-02-29'), same(TIME '01:02:03'), same(INTERVAL '5' SECOND), same(1.5E0) FROM t WHERE i <= 2;

--- rows
1.50,2024-01-01 00:00:01.000,"[1, 1]",{a=1},"(1, p)",p,FALSE,x'01',2024-02-29,01:02:03,+0 00:00:05.000,1.5
2.25,2024-01-01 00:00:02.000,"[1, 2]",{a=2},"(2, NULL)",NULL,TRUE,x'01',2024-02-29,01:02:03,+0 00:00:05.000,1.5

--- query fields of a row, functions of functions, and several in one query
SELECT pair(plus_one(plus(a, i)), shout(s)).text, plus(plus_one(a), plus_one(i)), plus(a, a) FROM t;

--- rows
p!,4,2
NULL!,6,4
q!,NULL,NULL
p!,10,8

--- query WHERE and CASE
SELECT i FROM t WHERE plus_one(a) > 2 AND CASE WHEN i = 2 THEN plus_one(a) ELSE 3 END = 3;

--- rows
2
4

--- query a call is made for the rows that need it
SELECT IF(i = 3, 0, panics_at_3(i)), COALESCE(a, panics_at_3(i + 1)) FROM t WHERE i <> 2 AND (i = 3 OR fails_at_3(i) > 0);

--- rows
1,1
0,4
4,4

--- query a view and a computed column
SELECT b, loud FROM v WHERE loud <> 'NULL!';

--- rows
2,p!
NULL,q!
5,p!

--- query a computed column
SELECT b, SUM(a) OVER (ORDER BY ts) FROM made;

--- rows
2,1
8,8

--- query GROUP BY and HAVING
SELECT shout(s), COUNT(*), plus_one(SUM(a)), SUM(plus_one(a)) FROM t GROUP BY shout(s) HAVING plus_one(COUNT(*)) > 2;

--- changelog
+I,p!,2,6,7

--- query a join
SELECT t.i, n FROM t JOIN u ON plus_one(t.a) = u.a AND plus(t.i, u.a) > 3;

--- changelog
+I,2,three
+I,4,five

--- query a left join by a condition alone
SELECT t.i, n FROM t LEFT JOIN u ON plus_one(t.a) = u.a;

--- changelog
+I,1,two
+I,2,three
+I,3,NULL
+I,4,five

--- query windows
SELECT window_start, shout(s), plus_one(SUM(plus_one(a))) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, shout(s);

--- rows
2024-01-01 00:00:00.000,p!,3
2024-01-01 00:00:00.000,NULL!,4
2024-01-01 00:00:10.000,q!,NULL
2024-01-01 00:00:10.000,p!,6

--- query OVER
SELECT i, SUM(plus_one(a)) OVER (PARTITION BY shout(s) ORDER BY ts) FROM t;

--- rows
1,2
2,3
3,NULL
4,7

--- query over rows that change
SELECT k, plus_one(v) FROM c;

--- changelog
+I,1,12
+I,3,31

--- query over rows that change, in a group
SELECT plus_one(k) AS n, SUM(plus_one(v)) FROM c WHERE plus_one(v) > 11 GROUP BY plus_one(k);

--- changelog
+I,2,12
+I,4,31

--- query ORDER BY and LIMIT
SELECT i, shout(s) FROM t ORDER BY plus_one(a) DESC LIMIT 2;

--- changelog
+I,4,p!
+I,2,NULL!

--- query a sub-query, IN and EXISTS
SELECT i, (SELECT MAX(plus_one(a)) FROM u) FROM t WHERE plus_one(a) IN (SELECT a FROM u);

--- changelog
+I,1,6
+I,2,6
+I,4,6

--- query UNION ALL and DISTINCT
SELECT DISTINCT plus_one(x) FROM (SELECT a AS x FROM t UNION ALL SELECT a FROM u) AS w WHERE x IS NOT NULL;

--- changelog
+I,2
+I,3
+I,4
+I,5
+I,6

--- query a function that is not deterministic is called for each row
SELECT COUNT(DISTINCT n) FROM (SELECT next_number() AS n FROM t) AS w;

--- changelog
+I,4

--- query a function that is not deterministic over rows that change
SELECT k, next_number() > -1 FROM c;

--- changelog
+I,1,TRUE
+I,3,TRUE

--- query a function that is not deterministic over rows that change, in a group
SELECT next_number() AS n, COUNT(*) FROM c GROUP BY next_number();

--- error UNSUPPORTED
user functions that are not deterministic

--- query a wrong number of arguments
SELECT plus(a) FROM t;

--- error TYPE_MISMATCH
PLUS: it takes two numbers

--- query an argument of another type
SELECT plus_one(s) FROM t;

--- error TYPE_MISMATCH
PLUS_ONE: argument 1 is STRING, and BIGINT is taken

--- query a decimal is not narrowed
SELECT plus_one(d) FROM t;

--- error TYPE_MISMATCH
PLUS_ONE: argument 1 is DECIMAL(5, 2), and BIGINT is taken

--- query NULL alone has a type of the signature
SELECT plus_one(NULL);

--- rows
NULL

--- query DISTINCT is of aggregates
SELECT plus_one(DISTINCT a) FROM t;

--- error INVALID
PLUS_ONE takes no DISTINCT

--- query OVER is of aggregates
SELECT plus_one(a) OVER (ORDER BY ts) FROM t;

--- error INVALID
PLUS_ONE is no aggregate

--- query a panic
SELECT panics_at_3(i) FROM t;

--- error USER_FUNCTION
PANICS_AT_3(CAST(i AS BIGINT)): the user function PANICS_AT_3 panicked: 3 is too much

--- query a panic over constants
SELECT panics_at_3(3);

--- error USER_FUNCTION
the user function PANICS_AT_3 panicked: 3 is too much

--- query an error
SELECT i FROM t WHERE fails_at_3(i) > 0;

--- error USER_FUNCTION
the user function FAILS_AT_3 failed: 3 is too much

--- query an error in a join
SELECT i FROM t JOIN u ON fails_at_3(i + 1) = u.a;

--- error USER_FUNCTION
the user function FAILS_AT_3 failed: 3 is too much

--- query a wrong length
SELECT too_short(a) FROM t;

--- error USER_FUNCTION
the user function TOO_SHORT returned

--- query a wrong type
SELECT wrong_type(a) FROM t;

--- error USER_FUNCTION
the user function WRONG_TYPE returned Int32, and promised BIGINT, which is Int64

--- query NULL in NOT NULL
SELECT gives_null(a) FROM t;

--- error USER_FUNCTION
the user function GIVES_NULL returned NULL, and promised BIGINT NOT NULL

--- query no NULL in NOT NULL
SELECT gives_null(a), TYPEOF(gives_null(a)) FROM t WHERE i = 1;

--- rows
1,BIGINT NOT NULL

--- query an unknown function
SELECT plus_on(a) FROM t;

--- error UNKNOWN_FUNCTION
did you mean PLUS_ONE
