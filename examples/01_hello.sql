-- You will learn: a query needs no table, and its rows go to the standard output.
-- Run it:    thalweg run examples/01_hello.sql
-- Portable:  yes
--
-- Expected:
--   greeting,half,letters
--   HELLO STREAM,3,12

SELECT
  UPPER('hello') || ' STREAM' AS greeting,
  7 / 2 AS half,
  CHAR_LENGTH('hello stream') AS letters;
