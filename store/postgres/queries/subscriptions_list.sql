-- The subscriptions of a consumer, or of all.
SELECT topic, consumer, created_at, (extract(epoch FROM {{now}} - seen_at) * 1000000)::bigint
FROM {{schema}}.headrace_subscriptions
WHERE $1 = '' OR consumer = $1
ORDER BY consumer, topic
