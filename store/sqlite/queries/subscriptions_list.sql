-- The subscriptions of a consumer, or of all.
SELECT topic, consumer, created_at, {{now}} - seen_at
FROM {{schema}}.headrace_subscriptions
WHERE $1 = '' OR consumer = $1
ORDER BY consumer, topic
