-- The work called $1 is the owner's for $3 microseconds, unless another has it, or it was done
-- within the last $4.
INSERT INTO {{schema}}.headrace_watches AS w (name, owner, until)
VALUES ($1, $2, {{now}} + $3::bigint * interval '1 microsecond')
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE (w.owner = excluded.owner OR w.until <= {{now}}) AND (w.done_at IS NULL OR w.done_at <= {{now}} - $4::bigint * interval '1 microsecond')
RETURNING {{now}}
