-- Literals and intervals: their types, how they are written, arithmetic of intervals.
CREATE TABLE Lone (id INT, ts TIMESTAMP(3), d DATE, t TIME(3));

--- input Lone
1,2024-01-31 12:00:00.000,2024-01-31,23:30:00

--- query numbers
SELECT 1, -1, 2147483648, 1.5, 0.5, .5, 100.00, 1e2, 1E-2 FROM Lone;

--- rows
1,-1,2147483648,1.5,0.5,0.5,100.00,100.0,0.01

--- query text, with quotes, line ends and any letter
SELECT 'a', '', 'it''s', 'two
lines', 'ä日', 'a,b', U&'\00e4' FROM Lone;

--- rows
a,"",it's,"two
lines",ä日,"a,b",ä

--- query booleans, NULL with a type, bytes
SELECT TRUE, false, CAST(NULL AS INT), x'00ff', X'' FROM Lone;

--- rows
TRUE,FALSE,NULL,x'00ff',x''

--- query dates, times, timestamps
SELECT DATE '2024-02-29', TIME '10:20:30', TIMESTAMP '2024-02-29 10:20:30', TIMESTAMP '2024-02-29 10:20:30.123', TIMESTAMP '2024-02-29 10:20:30.123456' FROM Lone;

--- rows
2024-02-29,10:20:30,2024-02-29 10:20:30,2024-02-29 10:20:30.123,2024-02-29 10:20:30.123456

--- query a timestamp and an interval of seconds to days
SELECT ts + INTERVAL '1' SECOND, ts - INTERVAL '90' SECOND, ts + INTERVAL '2' DAY, ts - INTERVAL '13' HOUR, ts + INTERVAL '0.001' SECOND,
  ts + INTERVAL '1 10' DAY TO HOUR, ts - INTERVAL '10:30' MINUTE TO SECOND, ts + INTERVAL '-1' DAY, ts + INTERVAL '100' HOUR(3)
FROM Lone;

--- rows
2024-01-31 12:00:01.000,2024-01-31 11:58:30.000,2024-02-02 12:00:00.000,2024-01-30 23:00:00.000,2024-01-31 12:00:00.001,2024-02-01 22:00:00.000,2024-01-31 11:49:30.000,2024-01-30 12:00:00.000,2024-02-04 16:00:00.000

--- query a timestamp and an interval of months: the last day of the month if the day does not exist
SELECT ts + INTERVAL '1' MONTH, ts + INTERVAL '3' MONTH, ts - INTERVAL '2' MONTH, ts + INTERVAL '1' YEAR, ts + INTERVAL '1-1' YEAR TO MONTH FROM Lone;

--- rows
2024-02-29 12:00:00.000,2024-04-30 12:00:00.000,2023-11-30 12:00:00.000,2025-01-31 12:00:00.000,2025-02-28 12:00:00.000

--- query a date and an interval
SELECT d + INTERVAL '1' DAY, d - INTERVAL '31' DAY, d + INTERVAL '1' MONTH, INTERVAL '1' DAY + d FROM Lone;

--- rows
2024-02-01,2023-12-31,2024-02-29,2024-02-01

--- query a time and an interval go round the clock
SELECT t + INTERVAL '29' MINUTE, t + INTERVAL '45' MINUTE FROM Lone;

--- rows
23:59:00.0,00:15:00.0

--- query units in the plural
SELECT ts + INTERVAL '2' SECONDS, ts + INTERVAL '2' MINUTES, ts + INTERVAL '2' HOURS, ts + INTERVAL '2' DAYS, ts + INTERVAL '2' MONTHS, ts + INTERVAL '2' YEARS FROM Lone;

--- rows
2024-01-31 12:00:02.000,2024-01-31 12:02:00.000,2024-01-31 14:00:00.000,2024-02-02 12:00:00.000,2024-03-31 12:00:00.000,2026-01-31 12:00:00.000

--- query an interval without a unit is refused
SELECT ts + INTERVAL '5 minutes' FROM Lone;

--- error SYNTAX
INTERVAL
