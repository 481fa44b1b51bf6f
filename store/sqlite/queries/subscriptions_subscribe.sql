-- A process of the consumer $2 has handlers for the topics $1.
INSERT INTO {{schema}}.headrace_subscriptions (topic, consumer, created_at, seen_at)
SELECT t.value, $2, {{now}}, {{now}} FROM json_each($1) AS t
WHERE true
ON CONFLICT (topic, consumer) DO UPDATE SET seen_at = excluded.seen_at
