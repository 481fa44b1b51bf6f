-- The consumer $2 has the subscriptions of $1 too.
INSERT INTO {{schema}}.headrace_subscriptions (topic, consumer, created_at, seen_at)
SELECT s.topic, $2, s.created_at, s.seen_at FROM {{schema}}.headrace_subscriptions AS s
WHERE s.consumer = $1
ORDER BY s.topic
ON CONFLICT (topic, consumer) DO NOTHING
