-- Removes the queue of a group with its messages.
DELETE FROM {{schema}}.headrace_queue_groups WHERE topic = $1 AND consumer_group = $2
