-- GROUP BY without a window, with final rows, aggregated once more so that one row comes out.
SELECT COUNT(*) AS a, SUM(c) AS b, SUM(s) AS c, SUM(c * s) AS d, SUM(MOD(k, 997) * c) AS e
FROM (SELECT k, COUNT(*) AS c, SUM(v) AS s FROM events GROUP BY k);
