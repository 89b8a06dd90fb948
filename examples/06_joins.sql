-- You will learn: joins that know how long a row can wait for its partner: within a span of time, or within a window.
-- Run it:    thalweg run examples/06_joins.sql
-- Portable:  yes
--
-- A join without such a bound keeps every row for ever, unless SET 'table.exec.state.ttl' = '1 h' or the like bounds it.
--
-- Expected of the first query: orders with their payments, if these came within a minute
--   id,buyer,paid,after_seconds
--   1,ann,30.25,12
--   3,ann,7.16,8
--   5,bea,4.25,10
-- and of the second: what was ordered and what was paid in each minute, by minutes that have both
--   window_start,ordered,paid
--   2026-03-01 10:00:00.000,49.96,37.41
--   2026-03-01 10:01:00.000,99.05,12.55
--   2026-03-01 10:02:00.000,4.25,4.25

CREATE TABLE orders (
  id INT,
  buyer STRING,
  amount DECIMAL(10, 2),
  ordered_at TIMESTAMP(3),
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '1' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/orders.csv',
  'format' = 'csv'
);

CREATE TABLE payments (
  order_id INT,
  paid DECIMAL(10, 2),
  paid_at TIMESTAMP(3),
  WATERMARK FOR paid_at AS paid_at - INTERVAL '1' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/data/payments.csv',
  'format' = 'csv'
);

SELECT o.id, o.buyer, p.paid, TIMESTAMPDIFF(SECOND, o.ordered_at, p.paid_at) AS after_seconds
FROM orders AS o
JOIN payments AS p
  ON o.id = p.order_id
  AND p.paid_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL '1' MINUTE;

SELECT o.window_start, o.ordered, p.paid
FROM (
  SELECT window_start, window_end, SUM(amount) AS ordered
  FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered_at), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end
) AS o
JOIN (
  SELECT window_start, window_end, SUM(paid) AS paid
  FROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(paid_at), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end
) AS p
  ON o.window_start = p.window_start AND o.window_end = p.window_end;
