-- REPLACE TABLE and CREATE OR REPLACE: which statements are refused. Answers follow Flink's documentation, "CREATE Statements".
CREATE TABLE Bid (price INT, item STRING);
CREATE VIEW Dear AS SELECT price FROM Bid;
CREATE DATABASE past;

--- input Bid
1,a

--- query a table that replaces another one has a query
CREATE OR REPLACE TABLE Bid (price INT) WITH ('connector' = 'blackhole');

--- error SYNTAX
CREATE OR REPLACE TABLE takes a query

--- query REPLACE TABLE has a query
REPLACE TABLE Bid (price INT) WITH ('connector' = 'blackhole');

--- error SYNTAX
REPLACE TABLE takes a query

--- query a table that replaces another one is not LIKE a third
CREATE OR REPLACE TABLE Bid LIKE Bid;

--- error SYNTAX
CREATE OR REPLACE TABLE takes a query

--- query REPLACE TABLE needs the table
REPLACE TABLE Ask WITH ('connector' = 'blackhole') AS SELECT price FROM Bid;

--- error UNKNOWN_TABLE
there is no table or view `Ask`

--- query a table does not replace a view
CREATE OR REPLACE TABLE Dear WITH ('connector' = 'blackhole') AS SELECT price FROM Bid;

--- error INVALID
`Dear` is a view

--- query REPLACE TABLE does not replace a view
REPLACE TABLE Dear WITH ('connector' = 'blackhole') AS SELECT price FROM Bid;

--- error INVALID
`Dear` is a view

--- query a table is replaced, or made if it does not exist
CREATE OR REPLACE TABLE IF NOT EXISTS Bid WITH ('connector' = 'blackhole') AS SELECT price FROM Bid;

--- error SYNTAX
does not take IF NOT EXISTS

--- query a TEMPORARY table replaces none
CREATE OR REPLACE TEMPORARY TABLE Bid WITH ('connector' = 'blackhole') AS SELECT price FROM Bid;

--- error SYNTAX
CREATE OR REPLACE is for a TABLE with a query

--- query a view replaces none
CREATE OR REPLACE VIEW Dear AS SELECT item FROM Bid;

--- error SYNTAX
CREATE OR REPLACE is for a TABLE with a query

--- query a database replaces none that is there
CREATE OR REPLACE DATABASE past;

--- error SYNTAX
CREATE OR REPLACE is for a TABLE with a query

--- query a database replaces none (not as Flink)
CREATE OR REPLACE DATABASE archive;

--- error SYNTAX
CREATE OR REPLACE is for a TABLE with a query

--- query a function replaces none (not as Flink)
CREATE OR REPLACE FUNCTION f AS 'a.B';

--- error SYNTAX
CREATE OR REPLACE is for a TABLE with a query
