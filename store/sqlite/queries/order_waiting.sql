-- Which of the keys have messages that wait.
SELECT k.value ->> 0, k.value ->> 1
FROM json_each($1) AS k
WHERE EXISTS (
    SELECT 1 FROM {{schema}}.headrace_backlog AS b
    WHERE b.strict AND b.order_key <> '' AND b.scope = k.value ->> 0 AND b.order_key = k.value ->> 1
)
