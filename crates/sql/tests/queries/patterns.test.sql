-- LIKE, SIMILAR TO and regular expressions.
CREATE TABLE Names (id INT, s STRING);

--- input Names
1,alpha
2,Alpha
3,alp_a
4,100%
5,""
6,NULL
7,"line one
line two"
8,k1=v1;k2=v2
9,日本

--- query LIKE: % for any text, _ for one character
SELECT id FROM Names WHERE s LIKE 'al%a';

--- rows
1
3

--- query LIKE: one character, also beyond ASCII
SELECT id, s LIKE 'al__a', s LIKE '__', s LIKE '_' FROM Names WHERE id IN (1, 3, 5, 6, 9);

--- rows
1,TRUE,FALSE,FALSE
3,TRUE,FALSE,FALSE
5,FALSE,FALSE,FALSE
6,NULL,NULL,NULL
9,FALSE,TRUE,FALSE

--- query LIKE needs the whole text, and case counts
SELECT id, s LIKE 'lph', s LIKE '%lph%', s LIKE 'ALPHA', s LIKE '%', s LIKE '' FROM Names WHERE id IN (1, 2, 5);

--- rows
1,FALSE,TRUE,FALSE,TRUE,FALSE
2,FALSE,TRUE,FALSE,TRUE,FALSE
5,FALSE,FALSE,FALSE,TRUE,TRUE

--- query LIKE with an escape
SELECT id FROM Names WHERE s LIKE '%!%' ESCAPE '!' OR s LIKE 'alp!_a' ESCAPE '!';

--- rows
3
4

--- query NOT LIKE leaves NULL out
SELECT id FROM Names WHERE s NOT LIKE '%a%';

--- rows
4
5
8
9
7

--- query % crosses lines
SELECT id FROM Names WHERE s LIKE 'line%two';

--- rows
7

--- query SIMILAR TO has alternatives, classes and repetition
SELECT id, s SIMILAR TO '(a|A)lpha', s SIMILAR TO '[a-z]+', s SIMILAR TO 'a%' FROM Names WHERE id IN (1, 2, 3, 6);

--- rows
1,TRUE,TRUE,TRUE
2,TRUE,FALSE,FALSE
3,FALSE,FALSE,TRUE
6,NULL,NULL,NULL

--- query REGEXP finds a part
SELECT id, REGEXP(s, '^a.*a$'), REGEXP(s, 'lp'), REGEXP(s, '[0-9]+') FROM Names WHERE id IN (1, 2, 4, 5, 6);

--- rows
1,TRUE,TRUE,FALSE
2,FALSE,TRUE,FALSE
4,FALSE,FALSE,TRUE
5,FALSE,FALSE,FALSE
6,NULL,NULL,NULL

--- query REGEXP_EXTRACT takes a group, the whole match unless said
SELECT id, REGEXP_EXTRACT(s, 'k(\d)=(\w+)'), REGEXP_EXTRACT(s, 'k(\d)=(\w+)', 2), REGEXP_EXTRACT(s, 'k(\d)=(\w+);k2=(.*)', 3)
FROM Names WHERE id IN (1, 6, 8);

--- rows
1,NULL,NULL,NULL
6,NULL,NULL,NULL
8,k1=v1,v1,v2

--- query REGEXP_REPLACE takes every match, and its replacement as it is written, without groups
SELECT id, REGEXP_REPLACE(s, '[aeiou]', '*'), REGEXP_REPLACE(s, '(\w)=(\w)', '$2=$1'), REGEXP_REPLACE(s, '^a', '') FROM Names WHERE id IN (1, 5, 6, 8);

--- rows
1,*lph*,alpha,lpha
5,"","",""
6,NULL,NULL,NULL
8,k1=v1;k2=v2,k$2=$11;k$2=$12,k1=v1;k2=v2
