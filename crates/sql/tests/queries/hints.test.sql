-- Hints behind SELECT: STATE_TTL, LOOKUP and those that choose plans. Their tables are those of FROM.
-- Source: Flink's documentation, "SQL Hints"; Flink 2.3 was asked.
SET 'table.exec.state.ttl' = '1 h';
CREATE TABLE t (k STRING, v INT, s STRING);
CREATE TABLE u (k STRING, w INT);
CREATE TABLE n (a INT NOT NULL, b INT);

--- input t
a,1,x
b,2,y
a,3,NULL
c,NULL,z

--- input u
a,10
a,20
b,NULL

--- input n
1,1
2,NULL

--- query a time to live of a group
SELECT /*+ STATE_TTL('t' = '1d') */ k, COUNT(*) FROM t GROUP BY k;

--- changelog
+I,a,2
+I,b,1
+I,c,1

--- query a time to live by an alias
SELECT /*+ STATE_TTL('x' = '1d') */ k, COUNT(*) FROM t AS x GROUP BY k;

--- changelog
+I,a,2
+I,b,1
+I,c,1

--- query times to live of both sides
SELECT /*+ STATE_TTL('t' = '1d', 'u' = '0') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query a name without quotes
SELECT /*+ STATE_TTL(t = '1d') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query a time to live without state
SELECT /*+ STATE_TTL('t' = '1d') */ k, v FROM t;

--- changelog
+I,a,1
+I,a,3
+I,b,2
+I,c,NULL

--- query DISTINCT
SELECT /*+ STATE_TTL('t' = '1d') */ DISTINCT k FROM t;

--- changelog
+I,a
+I,b
+I,c

--- query a name with its database
SELECT /*+ STATE_TTL('default_database.t' = '1d') */ k, COUNT(*) FROM t GROUP BY k;

--- changelog
+I,a,2
+I,b,1
+I,c,1

--- query a time to live of a sub-query
SELECT /*+ STATE_TTL('v1' = '1d') */ k, COUNT(*) FROM (SELECT k FROM t) AS v1 GROUP BY k;

--- changelog
+I,a,2
+I,b,1
+I,c,1

--- query within a sub-query
SELECT k, COUNT(*) FROM (SELECT /*+ STATE_TTL('t' = '1d', 'u' = '2d') */ t.k, w FROM t JOIN u ON t.k = u.k) GROUP BY k;

--- changelog
+I,a,4
+I,b,1

--- query the first of two for a table
SELECT /*+ STATE_TTL('t' = '1d', 't' = '2d') */ k, COUNT(*) FROM t GROUP BY k;

--- changelog
+I,a,2
+I,b,1
+I,c,1

--- query two hints
SELECT /*+ STATE_TTL('t' = '1d'), STATE_TTL('u' = '2d') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query BROADCAST
SELECT /*+ BROADCAST(u) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query a quoted name
SELECT /*+ BROADCAST('u') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query BROADCAST without a join
SELECT /*+ BROADCAST(t) */ k, v FROM t;

--- changelog
+I,a,1
+I,a,3
+I,b,2
+I,c,NULL

--- query MULTI_JOIN
SELECT /*+ MULTI_JOIN(t, u) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query LOOKUP
SELECT /*+ LOOKUP('table'='u', 'async'='true') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query an unknown option of LOOKUP
SELECT /*+ LOOKUP('table'='u', 'foo'='1') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query LOOKUP that tries again
SELECT /*+ LOOKUP('table'='u', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', 'fixed-delay'='1s', 'max-attempts'='3') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query more options of LOOKUP
SELECT /*+ LOOKUP('table'='u', 'output-mode'='ordered', 'capacity'='0') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- changelog
+I,a,10
+I,a,10
+I,a,20
+I,a,20
+I,b,NULL

--- query a name that is no table
SELECT /*+ STATE_TTL('x' = '1d') */ k, COUNT(*) FROM t GROUP BY k;

--- error UNKNOWN_TABLE
names `x`, which is no table of FROM

--- query a table that has an alias
SELECT /*+ STATE_TTL('t' = '1d') */ k, COUNT(*) FROM t AS x GROUP BY k;

--- error UNKNOWN_TABLE
names `t`, which is no table of FROM

--- query one of two names
SELECT /*+ STATE_TTL('t' = '1d', 'zz' = '0') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNKNOWN_TABLE
names `zz`

--- query a name in another case
SELECT /*+ STATE_TTL('T' = '1d') */ k, COUNT(*) FROM t GROUP BY k;

--- error UNKNOWN_TABLE
names `T`

--- query a plan for an unknown table
SELECT /*+ BROADCAST(zz) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNKNOWN_TABLE
names `zz`

--- query one of two tables of a plan
SELECT /*+ SHUFFLE_HASH(t, zz) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNKNOWN_TABLE
names `zz`

--- query MULTI_JOIN of an unknown table
SELECT /*+ MULTI_JOIN(t, zz) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNKNOWN_TABLE
names `zz`

--- query LOOKUP of an unknown table
SELECT /*+ LOOKUP('table'='zz') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNKNOWN_TABLE
names `zz`

--- query a table within a sub-query
SELECT /*+ STATE_TTL('t' = '1d') */ k, COUNT(*) FROM (SELECT k FROM t) AS v1 GROUP BY k;

--- error UNKNOWN_TABLE
names `t`

--- query no span of time
SELECT /*+ STATE_TTL('t' = 'abc') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
has the time 'abc'

--- query a negative span
SELECT /*+ STATE_TTL('t' = '-1d') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
has the time '-1d'

--- query a name without a time
SELECT /*+ STATE_TTL('t') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
gives `t` no time

--- query no names
SELECT /*+ STATE_TTL() */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
names no table

--- query a plan without tables
SELECT /*+ BROADCAST() */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
names no table

--- query a plan with an option
SELECT /*+ BROADCAST('a'='b') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
takes names of tables, and no option 'a'

--- query LOOKUP without a table
SELECT /*+ LOOKUP('async'='true') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
lacks the option 'table'

--- query a wrong option of LOOKUP
SELECT /*+ LOOKUP('table'='u', 'async'='maybe') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
the value 'maybe' for 'async'

--- query one of the options to try again
SELECT /*+ LOOKUP('table'='u', 'retry-predicate'='lookup_miss') */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error INVALID
which come together

--- query an unknown hint
SELECT /*+ FOO(u) */ t.k, w FROM t JOIN u ON t.k = u.k;

--- error UNSUPPORTED
there is no hint FOO
