-- The holder's word that it is still working on messages.
UPDATE {{schema}}.headrace_queue SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
WHERE topic = $1 AND consumer_group = $2 AND id = ANY ($3::bigint[]) AND holder = $5
