-- The figures. A message is what the journal knows by its intent and its fact; a row of invoices is its effect if
-- it has the same intent and says the same; what a person edited is applied if the inbox says so. Everything is put into one heap and sorted, which stays fast where
-- joins of that many rows would not.
WITH invoice AS (
    SELECT CASE WHEN shop <> '' THEN shop || ':order:' || order_id || ':paid' ELSE 'id:' || key END AS intent,
           order_id || '|' || order_name || '|' || email || '|' || currency || '|' || total_minor || '|' || lines AS fact
    FROM invoices
), heap AS (
    SELECT intent, fact, 1 AS deliveries, 0 AS effects, 0 AS letters, 0 AS pending FROM orders_deliveries
    UNION ALL SELECT intent, fact, 0, 1, 0, 0 FROM invoice
    UNION ALL SELECT intent, fact, 0, 1, 0, 0 FROM orders_seen WHERE place = 'applied'
    UNION ALL SELECT intent, fact, 0, 0, 1, 0 FROM orders_seen WHERE place = 'dead'
    UNION ALL SELECT intent, fact, 0, 0, 0, 1 FROM orders_seen WHERE place = 'waiting'
), message AS (
    SELECT sum(deliveries) AS deliveries,
           CASE WHEN max(effects) = 1 THEN 'applied' WHEN max(letters) = 1 THEN 'dead'
                WHEN max(pending) = 1 THEN 'waiting' ELSE 'lost' END AS fate
    FROM heap GROUP BY intent, fact HAVING sum(deliveries) > 0
)
SELECT CAST(coalesce(sum(deliveries), 0) AS bigint) AS delivered,
       count(*) AS messages,
       count(CASE WHEN fate = 'applied' THEN 1 END) AS applied,
       count(CASE WHEN fate = 'dead' THEN 1 END) AS dead,
       count(CASE WHEN fate = 'waiting' THEN 1 END) AS waiting,
       (SELECT count(*) FROM (SELECT intent FROM invoice GROUP BY intent HAVING count(*) > 1) AS twice) AS applied_twice,
       (SELECT count(*) FROM headrace_attempts a
        WHERE EXISTS (SELECT 1 FROM invoices i WHERE i.key = a.key)) AS retried,
       (SELECT count(DISTINCT message_id) FROM orders_published WHERE topic = $1) AS published
FROM message
