-- The rows alone, without a question.
CREATE TABLE nowhere (k BIGINT, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT * FROM orders UNION ALL SELECT * FROM payments;
