-- The mark stays, to say who resumed the consumer.
UPDATE {{schema}}.headrace_pauses SET resumed_by = $2, resumed_at = {{now}} WHERE consumer = $1 AND resumed_at IS NULL
