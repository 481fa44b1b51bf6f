-- A process of the consumer $2 has handlers for the topics $1. Sorted, so that two
-- processes lock the rows in one order.
INSERT INTO {{schema}}.headrace_subscriptions (topic, consumer, seen_at)
SELECT t.topic, $2, {{now}} FROM unnest($1::text[]) AS t (topic)
ORDER BY t.topic
ON CONFLICT (topic, consumer) DO UPDATE SET seen_at = excluded.seen_at
