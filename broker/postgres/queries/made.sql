-- When the queue of a group was made, in microseconds; no row if there is none.
SELECT (extract(epoch FROM made) * 1000000)::bigint FROM {{schema}}.headrace_queue_groups WHERE topic = $1 AND consumer_group = $2
