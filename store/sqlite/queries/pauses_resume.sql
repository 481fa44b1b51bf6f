-- The mark stays, to say who resumed the consumer.
UPDATE {{schema}}.headrace_pauses SET resumed_by = $2, resumed_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 WHERE consumer = $1 AND resumed_at IS NULL
