-- A pause is never shortened by another one.
INSERT INTO {{schema}}.headrace_systems AS s (system, paused_until, by_whom, reason, changed_at)
VALUES ($1, {{now}} + $2::bigint * interval '1 microsecond', $3, $4, {{now}})
ON CONFLICT (system) DO UPDATE
SET paused_until = excluded.paused_until, by_whom = excluded.by_whom, reason = excluded.reason, changed_at = excluded.changed_at
WHERE s.paused_until < excluded.paused_until
