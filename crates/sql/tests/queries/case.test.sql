-- CASE: both forms, NULL, types of the result, evaluation of the branch that is taken only, nesting; IF.
CREATE TABLE Marks (id INT, score INT, grade STRING, ratio DECIMAL(5, 2), big BIGINT);

--- input Marks
1,95,A,0.50,10
2,70,B,1.25,0
3,0,C,NULL,-1
4,NULL,NULL,9.99,NULL
5,-3,"",100.00,5000000000

--- query searched CASE takes the first branch that is true
SELECT id, CASE WHEN score > 90 THEN 'high' WHEN score > 50 THEN 'middle' WHEN score > 90 THEN 'never' ELSE 'low' END
FROM Marks;

--- rows
1,high
2,middle
3,low
4,low
5,low

--- query without ELSE the rest is NULL
SELECT id, CASE WHEN score > 50 THEN score END FROM Marks;

--- rows
1,95
2,70
3,NULL
4,NULL
5,NULL

--- query simple CASE compares by equality, so that NULL meets no branch
SELECT id, CASE grade WHEN 'A' THEN 1 WHEN 'B' THEN 2 WHEN '' THEN 0 ELSE -1 END FROM Marks;

--- rows
1,1
2,2
3,-1
4,-1
5,0

--- query the branches' common type is that of the result
SELECT id, CASE WHEN id = 1 THEN score WHEN id = 2 THEN ratio ELSE big END FROM Marks WHERE id <> 3;

--- rows
1,95.00
2,1.25
4,NULL
5,5000000000.00

--- query the branch that is not taken is not computed
SELECT id, CASE WHEN big <> 0 THEN 100 / big ELSE 0 END, CASE WHEN big = 0 THEN -1 ELSE 7 / big END FROM Marks;

--- rows
1,10,0
2,0,-1
3,-100,-7
4,0,NULL
5,0,0

--- query CASE in WHERE, nested
SELECT id FROM Marks
WHERE CASE WHEN score IS NULL THEN TRUE ELSE CASE WHEN score < 0 THEN TRUE ELSE FALSE END END;

--- rows
4
5

--- query CASE of conditions that are unknown
SELECT id, CASE WHEN score > 0 THEN 'plus' WHEN NOT (score > 0) THEN 'not plus' ELSE 'unknown' END FROM Marks;

--- rows
1,plus
2,plus
3,not plus
4,unknown
5,not plus

--- query IF with three arguments
SELECT id, IF(score >= 70, 'pass', 'fail'), IF(grade = 'A', 1, CAST(NULL AS INT)) FROM Marks;

--- rows
1,pass,1
2,pass,NULL
3,fail,NULL
4,fail,NULL
5,fail,NULL
