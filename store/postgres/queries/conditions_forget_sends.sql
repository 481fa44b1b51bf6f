-- What was sent of conditions that ended $1 microseconds ago, or of which there is no row.
DELETE FROM {{schema}}.headrace_sends
WHERE key NOT IN (
    SELECT c.key FROM {{schema}}.headrace_conditions AS c WHERE c.ended_at IS NULL OR c.ended_at > {{now}} - $1::bigint * interval '1 microsecond'
)
