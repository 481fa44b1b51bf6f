-- Whether the work called $1 could be the owner's ($2), and was not done within the last $3
-- microseconds: without a write.
SELECT NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_watches AS w
    WHERE w.name = $1 AND (w.owner <> $2 AND w.until > {{now}} OR w.done_at > {{now}} - $3::bigint * interval '1 microsecond')
)
