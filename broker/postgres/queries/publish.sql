-- Puts messages into the queue of each group that subscribed to the topic, in their order. The messages are
-- one JSON document, so that the statement is the same whatever their number.
INSERT INTO {{schema}}.headrace_queue (topic, consumer_group, uuid, order_key, metadata, payload)
SELECT g.topic, g.consumer_group, m.uuid, m.order_key, m.metadata, decode(m.payload, 'base64')
FROM {{schema}}.headrace_queue_groups g,
     json_to_recordset($2::json) AS m (n integer, uuid text, order_key text, metadata json, payload text)
WHERE g.topic = $1
ORDER BY m.n
