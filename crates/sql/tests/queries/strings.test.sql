-- String functions. Positions count characters from 1, except for SPLIT_INDEX, which counts from 0.
CREATE TABLE Texts (id INT, s STRING, t STRING, n INT);

--- input Texts
1,Hello World,o,3
2,"",x,0
3,  padded  ," ",-2
4,naïve 日本語,本,1
5,NULL,NULL,NULL
6,"a,b,,c",",",2

--- query concatenation
SELECT id, s || '|' || t, CONCAT(s, t, '!'), CONCAT_WS('-', s, t, 'z') FROM Texts;

--- rows
1,Hello World|o,Hello Worldo!,Hello World-o-z
2,|x,x!,-x-z
3,  padded  | ,  padded   !,  padded  - -z
4,naïve 日本語|本,naïve 日本語本!,naïve 日本語-本-z
5,NULL,NULL,z
6,"a,b,,c|,","a,b,,c,!","a,b,,c-,-z"

--- query lengths in characters
SELECT id, CHAR_LENGTH(s), CHARACTER_LENGTH(t) FROM Texts;

--- rows
1,11,1
2,0,1
3,10,1
4,9,1
5,NULL,NULL
6,6,1

--- query upper and lower case
SELECT id, UPPER(s), LOWER(s) FROM Texts WHERE id IN (1, 3, 4, 5);

--- rows
1,HELLO WORLD,hello world
3,  PADDED  ,  padded  
4,NAÏVE 日本語,naïve 日本語
5,NULL,NULL

--- query INITCAP
SELECT id, INITCAP(s), INITCAP('ONE two-three 4four') FROM Texts WHERE id IN (1, 3, 5);

--- rows
1,Hello World,One Two-Three 4four
3,  Padded  ,One Two-Three 4four
5,NULL,One Two-Three 4four

--- query SUBSTRING with both syntaxes
SELECT id, SUBSTRING(s FROM 2), SUBSTRING(s, 2, 3), SUBSTRING(s FROM 7 FOR 100), SUBSTR(s, 1, 1) FROM Texts;

--- rows
1,ello World,ell,World,H
2,"","","",""
3, padded  , pa,ed  , 
4,aïve 日本語,aïv,日本語,n
5,NULL,NULL,NULL,NULL
6,",b,,c",",b,","",a

--- query SUBSTRING from positions below 1: 0 counts as 1, negative ones from the end
SELECT SUBSTRING(s, 0, 3), SUBSTRING(s, -5), SUBSTRING(s, -5, 2), SUBSTRING(s, -50, 2), SUBSTRING(s, 12), SUBSTRING(s, 3, 0) FROM Texts WHERE id = 1;

--- rows
Hel,World,Wo,"","",""

--- query LEFT and RIGHT
SELECT id, LEFT(s, 4), RIGHT(s, 4), LEFT(s, 0), LEFT(s, -1), RIGHT(s, 100) FROM Texts WHERE id IN (1, 4, 5);

--- rows
1,Hell,orld,"","",Hello World
4,naïv, 日本語,"","",naïve 日本語
5,NULL,NULL,NULL,NULL,NULL

--- query TRIM and its kind
SELECT id, '[' || TRIM(s) || ']', '[' || LTRIM(s) || ']', '[' || RTRIM(s) || ']', TRIM(LEADING 'H' FROM s), TRIM(BOTH ' ' FROM s), BTRIM(s)
FROM Texts WHERE id IN (1, 3);

--- rows
1,[Hello World],[Hello World],[Hello World],ello World,Hello World,Hello World
3,[padded],[padded  ],[  padded],  padded  ,padded,padded

--- query LPAD and RPAD also cut
SELECT id, LPAD(s, 12, '*'), RPAD(s, 13, 'ab'), LPAD(s, 3, '*'), RPAD(s, 0, '*') FROM Texts WHERE id IN (1, 2, 5);

--- rows
1,*Hello World,Hello Worldab,Hel,""
2,************,ababababababa,***,""
5,NULL,NULL,NULL,NULL

--- query POSITION, LOCATE, INSTR count from 1; 0 where there is none
SELECT id, POSITION(t IN s), LOCATE(t, s), LOCATE(t, s, 6), INSTR(s, t) FROM Texts;

--- rows
1,5,5,8,5
2,0,0,0,0
3,1,1,9,1
4,8,8,8,8
5,NULL,NULL,NULL,NULL
6,2,2,0,2

--- query REPLACE takes every occurrence
SELECT id, REPLACE(s, t, '_'), REPLACE(s, 'zz', '_'), REPLACE(s, t, '') FROM Texts WHERE id IN (1, 4, 5, 6);

--- rows
1,Hell_ W_rld,Hello World,Hell Wrld
4,naïve 日_語,naïve 日本語,naïve 日語
5,NULL,NULL,NULL
6,a_b__c,"a,b,,c",abc

--- query REVERSE, REPEAT
SELECT id, REVERSE(s), REPEAT(t, 3), REPEAT(t, n) FROM Texts WHERE id IN (1, 2, 4, 5);

--- rows
1,dlroW olleH,ooo,ooo
2,"",xxx,""
4,語本日 evïan,本本本,本
5,NULL,NULL,NULL

--- query OVERLAY puts text over text
SELECT OVERLAY(s PLACING 'J' FROM 1), OVERLAY(s PLACING 'there' FROM 7 FOR 5), OVERLAY(s PLACING '' FROM 1 FOR 6) FROM Texts WHERE id = 1;

--- rows
Jello World,Hello there,World

--- query SPLIT_INDEX counts from 0; NULL where there is no such part
SELECT id, SPLIT_INDEX(s, ',', 0), SPLIT_INDEX(s, ',', 1), SPLIT_INDEX(s, ',', 2), SPLIT_INDEX(s, ',', 3), SPLIT_INDEX(s, ',', 4), SPLIT_INDEX(s, ',', -1)
FROM Texts WHERE id IN (1, 6);

--- rows
1,Hello World,NULL,NULL,NULL,NULL,NULL
6,a,b,"",c,NULL,NULL

--- query ASCII, CHR, HEX
SELECT id, ASCII(s), CHR(65), HEX(s), HEX(255) FROM Texts WHERE id IN (1, 2, 5);

--- rows
1,72,A,48656C6C6F20576F726C64,FF
2,0,A,"",FF
5,NULL,A,NULL,FF

--- query base 64, MD5, SHA256
SELECT TO_BASE64('hello'), FROM_BASE64('aGVsbG8='), MD5('hello'), SHA1('abc'), SHA256('abc') FROM Texts WHERE id = 1;

--- rows
aGVsbG8=,hello,5d41402abc4b2a76b9719d911017c592,a9993e364706816aba3e25717850c26c9cd0d89d,ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad

--- query STARTSWITH, ENDSWITH
SELECT id, STARTSWITH(s, 'He'), ENDSWITH(s, 'd'), STARTSWITH(s, '') FROM Texts WHERE id IN (1, 2, 5);

--- rows
1,TRUE,TRUE,TRUE
2,FALSE,FALSE,TRUE
5,NULL,NULL,NULL
