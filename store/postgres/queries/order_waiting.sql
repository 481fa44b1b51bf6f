-- Which of the keys have messages that wait.
SELECT k.scope, k.order_key
FROM unnest($1::text[], $2::text[]) AS k (scope, order_key)
CROSS JOIN LATERAL (
    SELECT FROM {{schema}}.headrace_backlog AS b
    WHERE b.strict AND b.order_key <> '' AND b.scope = k.scope AND b.order_key = k.order_key
    ORDER BY b.id
    LIMIT 1
) AS found
