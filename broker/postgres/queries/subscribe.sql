-- Makes the queue of a group, if there is none yet.
INSERT INTO {{schema}}.headrace_queue_groups (topic, consumer_group) VALUES ($1, $2) ON CONFLICT (topic, consumer_group) DO NOTHING
