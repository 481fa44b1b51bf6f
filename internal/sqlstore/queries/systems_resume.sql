-- The row stays, to say who resumed the system.
UPDATE {{schema}}.headrace_systems AS s SET paused_until = {{now}}, by_whom = $2, reason = 'resumed', changed_at = {{now}}
WHERE s.system = $1 AND s.paused_until > {{now}}
