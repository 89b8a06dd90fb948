-- CAST and TRY_CAST from text and bytes: to every type that takes them, with what is accepted and what fails.
CREATE TABLE Words (id INT, s STRING, n STRING, d STRING);

--- input Words
1,abc,12,2024-02-29
2,"",007,1969-12-31
3,true,  -5 ,0001-01-01
4,日本語です,+9,9999-12-31
5,NULL,NULL,NULL

--- query text of a length is cut, padded, and counted by characters
SELECT id, CAST(s AS VARCHAR(2)), CAST(s AS CHAR(4)), CHAR_LENGTH(CAST(s AS CHAR(4))), CAST(s AS STRING) FROM Words;

--- rows
1,ab,abc ,4,abc
2,"",    ,4,""
3,tr,true,4,true
4,日本,日本語で,4,日本語です
5,NULL,NULL,NULL,NULL

--- query text to whole numbers is trimmed and may have a sign
SELECT id, CAST(n AS TINYINT), CAST(n AS SMALLINT), CAST(n AS INT), CAST(n AS BIGINT) FROM Words;

--- rows
1,12,12,12,12
2,7,7,7,7
3,-5,-5,-5,-5
4,9,9,9,9
5,NULL,NULL,NULL,NULL

--- query text to decimals, floats and doubles
SELECT id, CAST(n AS DECIMAL(5, 2)), CAST(n AS FLOAT), CAST(n AS DOUBLE), CAST('1e2' AS DOUBLE), CAST('-1.255' AS DECIMAL(5, 2)) FROM Words;

--- rows
1,12.00,12.0,12.0,100.0,-1.26
2,7.00,7.0,7.0,100.0,-1.26
3,-5.00,-5.0,-5.0,100.0,-1.26
4,9.00,9.0,9.0,100.0,-1.26
5,NULL,NULL,NULL,100.0,-1.26

--- query text that is no number fails
SELECT id, CAST(s AS INT) FROM Words;

--- error BAD_CAST
abc

--- query text that is no number is NULL with TRY_CAST
SELECT id, TRY_CAST(s AS INT), TRY_CAST(s AS DOUBLE), TRY_CAST(s AS DECIMAL(5, 2)), TRY_CAST(n AS INT) FROM Words;

--- rows
1,NULL,NULL,NULL,12
2,NULL,NULL,NULL,7
3,NULL,NULL,NULL,-5
4,NULL,NULL,NULL,9
5,NULL,NULL,NULL,NULL

--- query numbers beyond their type fail, and are NULL with TRY_CAST
SELECT TRY_CAST('128' AS TINYINT), TRY_CAST('-128' AS TINYINT), TRY_CAST('40000' AS SMALLINT), TRY_CAST('2147483648' AS INT),
  TRY_CAST('9223372036854775808' AS BIGINT), TRY_CAST('1000' AS DECIMAL(5, 2))
FROM Words WHERE id = 1;

--- rows
NULL,-128,NULL,NULL,NULL,NULL

--- query a number beyond its type fails with CAST
SELECT CAST(n || '999999999' AS INT) FROM Words WHERE id = 1;

--- error BAD_CAST
12999999999

--- query text to BOOLEAN
SELECT id, TRY_CAST(s AS BOOLEAN), CAST('TRUE' AS BOOLEAN), CAST('f' AS BOOLEAN), CAST('Yes' AS BOOLEAN), CAST('0' AS BOOLEAN), TRY_CAST('2' AS BOOLEAN)
FROM Words;

--- rows
1,NULL,TRUE,FALSE,TRUE,FALSE,NULL
2,NULL,TRUE,FALSE,TRUE,FALSE,NULL
3,TRUE,TRUE,FALSE,TRUE,FALSE,NULL
4,NULL,TRUE,FALSE,TRUE,FALSE,NULL
5,NULL,TRUE,FALSE,TRUE,FALSE,NULL

--- query text that is no boolean fails
SELECT CAST(s AS BOOLEAN) FROM Words WHERE id = 1;

--- error BAD_CAST
abc

--- query text to dates and timestamps
SELECT id, CAST(d AS DATE), CAST(d AS TIMESTAMP(3)), CAST(d || ' 10:20:30.456' AS TIMESTAMP(3)), CAST(d || ' 10:20:30.456' AS TIMESTAMP(1))
FROM Words;

--- rows
1,2024-02-29,2024-02-29 00:00:00.000,2024-02-29 10:20:30.456,2024-02-29 10:20:30.4
2,1969-12-31,1969-12-31 00:00:00.000,1969-12-31 10:20:30.456,1969-12-31 10:20:30.4
3,0001-01-01,0001-01-01 00:00:00.000,0001-01-01 10:20:30.456,0001-01-01 10:20:30.4
4,9999-12-31,9999-12-31 00:00:00.000,9999-12-31 10:20:30.456,9999-12-31 10:20:30.4
5,NULL,NULL,NULL,NULL

--- query text to times
SELECT id, CAST('10:20:30' AS TIME), CAST('23:59:59.999' AS TIME(3)), TRY_CAST(s AS TIME) FROM Words WHERE id IN (1, 5);

--- rows
1,10:20:30,23:59:59.999,NULL
5,10:20:30,23:59:59.999,NULL

--- query text that is no day or instant
SELECT id, TRY_CAST('2023-02-29' AS DATE), TRY_CAST('2024-13-01' AS DATE), TRY_CAST(s AS DATE), TRY_CAST(s AS TIMESTAMP(3)), TRY_CAST('2024-01-01 25:00:00' AS TIMESTAMP(3))
FROM Words WHERE id IN (1, 2, 5);

--- rows
1,NULL,NULL,NULL,NULL,NULL
2,NULL,NULL,NULL,NULL,NULL
5,NULL,NULL,NULL,NULL,NULL

--- query text that is no date fails
SELECT CAST(s AS DATE) FROM Words WHERE id = 1;

--- error BAD_CAST
abc

--- query text to bytes and back
SELECT id, CAST(s AS BYTES), CAST(CAST(s AS BYTES) AS STRING) FROM Words;

--- rows
1,x'616263',abc
2,x'',""
3,x'74727565',true
4,x'e697a5e69cace8aa9ee381a7e38199',日本語です
5,NULL,NULL

--- query bytes of a length are cut and padded with zeros
SELECT CAST(x'0102030405' AS VARBINARY(2)), CAST(x'01' AS BINARY(3)), CAST(s AS BINARY(2)) FROM Words WHERE id = 1;

--- rows
x'0102',x'010000',x'6162'
