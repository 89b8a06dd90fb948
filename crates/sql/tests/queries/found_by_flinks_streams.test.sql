-- Found while Flink's own tests of streams were asked (`runtime/stream/sql`, and the programs of `nodes/exec`): words that are columns,
-- settings that change rows, names for the elements of a collection. Rows, columns and queries are our own; answers by hand.
CREATE TABLE Sale (id INT, `user` STRING, item STRING, at_ms BIGINT, ts AS TO_TIMESTAMP_LTZ(at_ms, 3), tags ARRAY<STRING>,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND);

--- input Sale
1,ann,pen,1000,r;g
2,bob,pen,2000,g
3,cid,ink,3000,NULL
4,ann,ink,9000,b

--- set 'execution.runtime-mode' = 'streaming'

--- query a word that Flink has no function for is a column by itself
SELECT id, user FROM Sale WHERE user <> 'bob';

--- rows
1,ann
3,cid
4,ann

--- query such a word is a key, too
SELECT user, COUNT(*) FROM Sale GROUP BY user;

--- changelog
+I,ann,1
+I,bob,1
+I,cid,1
-U,ann,1
+U,ann,2

--- query the first row of each item, by such a word
SELECT id, user, item FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) AS rn FROM Sale
) WHERE rn = 1;

--- rows
1,ann,pen
3,cid,ink

--- query such a word without a column
SELECT current_role FROM Sale;

--- error UNKNOWN_COLUMN
current_role

--- query such a word is no name of a table
SELECT user.id FROM Sale AS user;

--- error SYNTAX
user is a word of SQL and no name

--- query such a word is no name of a result
SELECT id AS user FROM Sale;

--- error SYNTAX
user is a word of SQL and no name

--- query other words of SQL are no columns
SELECT value FROM Sale;

--- error SYNTAX
value is a word of SQL and no name

--- query a list of too many names
SELECT id FROM Sale, UNNEST(tags) AS t (tag, place);

--- error INVALID
the list names 2 columns, and `t` has 1

--- query the values of COLLECT, each as often as it occurs
SELECT tag FROM (SELECT COLLECT(item) AS items FROM Sale), UNNEST(items) AS t (tag);

--- changelog
+I,pen
+I,pen
+I,ink
+I,ink

--- query the values of COLLECT of each key, by WITH
WITH c AS (SELECT user AS u, COLLECT(item) AS items FROM Sale GROUP BY user)
SELECT u, tag FROM c CROSS JOIN UNNEST(c.items) AS t (tag);

--- changelog
+I,ann,pen
+I,ann,ink
+I,bob,pen
+I,cid,ink

--- query keys without values of COLLECT stay by LEFT JOIN
SELECT u, tag FROM (SELECT user AS u, COLLECT(NULLIF(item, 'pen')) AS items FROM Sale GROUP BY user)
LEFT JOIN UNNEST(items) AS t (tag) ON TRUE;

--- changelog
+I,ann,ink
+I,bob,NULL
+I,cid,ink

--- query the values of COLLECT in windows, behind a join
SELECT s.id, w.`end`, t.tag FROM Sale AS s
JOIN (SELECT TUMBLE_END(ts, INTERVAL '5' SECOND) AS `end`, COLLECT(item) AS items FROM Sale GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)) AS w
  ON s.id = EXTRACT(SECOND FROM w.`end`) / 5
CROSS JOIN UNNEST(w.items) AS t (tag);

--- rows
1,1970-01-01 00:00:05.000,pen
1,1970-01-01 00:00:05.000,pen
1,1970-01-01 00:00:05.000,ink
2,1970-01-01 00:00:10.000,ink

--- query values of COLLECT with their positions, which are in the order of the values here (not as Flink)
SELECT tag, place FROM (SELECT COLLECT(item) AS items FROM Sale), UNNEST(items) WITH ORDINALITY AS t (tag, place);

--- changelog
+I,ink,1
+I,ink,2
+I,pen,3
+I,pen,4

--- query rows that are collected
SELECT i, u FROM (SELECT COLLECT(ROW(id, `user`)) AS people FROM Sale WHERE id < 3), UNNEST(people) AS t (i, u);

--- changelog
+I,1,ann
+I,2,bob

--- query a list of too many names for COLLECT
SELECT tag FROM (SELECT COLLECT(item) AS items FROM Sale), UNNEST(items) AS t (tag, number);

--- error INVALID
the list names 2 columns, and `t` has 1

--- query other maps have rows of two columns
SELECT id, k, v FROM (SELECT id, MAP[item, 2] AS m FROM Sale WHERE id = 1), UNNEST(m) AS t (k, v);

--- rows
1,pen,2

--- query windows that wait for late rows
SET 'table.exec.emit.allow-lateness' = '5 s';

--- error UNSUPPORTED
'table.exec.emit.allow-lateness' is '5 s', which is not supported

--- query casts that give NULL where they fail
SET 'table.exec.legacy-cast-behaviour' = 'ENABLED';

--- error UNSUPPORTED
'table.exec.legacy-cast-behaviour' is 'ENABLED', which is not supported

--- query sinks that cut text
SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD';

--- error UNSUPPORTED
'table.exec.sink.type-length-enforcer' is 'TRIM_PAD', which is not supported

--- set 'table.exec.emit.early-fire.enabled' = 'true'

--- set 'table.exec.emit.early-fire.delay' = '1 s'

--- query windows that fire early in Flink have the same rows in the end
SELECT TUMBLE_START(ts, INTERVAL '5' SECOND), COUNT(*) FROM Sale GROUP BY TUMBLE(ts, INTERVAL '5' SECOND);

--- rows
1970-01-01 00:00:00.000,3
1970-01-01 00:00:05.000,1
