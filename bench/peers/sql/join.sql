-- A join without a bound in time of two tables of as many keys as rows.
SELECT COUNT(*) AS a, SUM(v) AS b, SUM(w) AS c, SUM(v * w) AS d FROM orders AS o JOIN payments AS p ON o.k = p.k;
