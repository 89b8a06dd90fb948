-- Tables of several databases, and tables that are LIKE others. Answers follow Flink's documentation, "USE Statements" and
-- "CREATE Statements".
CREATE DATABASE archive;
CREATE TABLE Bid (price INT, item STRING);
CREATE TABLE archive.Bid (price INT, item STRING);
CREATE TABLE Dear (dear AS price * 2) LIKE archive.Bid;
CREATE VIEW Names AS SELECT item FROM Bid;
USE archive;
CREATE VIEW Names AS SELECT item FROM Bid;

--- input Bid
1,a
2,b

--- input archive.Bid
3,c

--- input Dear
4,d

--- query a name without a database is found in the one that is used
SELECT price, Bid.item FROM Bid;

--- rows
3,c

--- query the database that is used is the current one
SELECT CURRENT_DATABASE() FROM Bid;

--- rows
archive

--- query a name with its database, and columns by it
SELECT default_database.Bid.price, Bid.item, default_catalog.default_database.Bid.item FROM default_database.Bid;

--- rows
1,a,a
2,b,b

--- query views find tables where they were created
SELECT item FROM Names UNION ALL SELECT item FROM default_database.Names;

--- rows
a
b
c

--- query a table that is like another has its columns first
SELECT * FROM default_database.Dear;

--- rows
4,d,8

--- query a table of another database that has no table of the name
SELECT * FROM Dear;

--- error UNKNOWN_TABLE
archive.Dear

--- query a column by the database of another table
SELECT archive.Bid.price FROM default_database.Bid;

--- error UNKNOWN_TABLE
no table is called `archive.Bid` here
