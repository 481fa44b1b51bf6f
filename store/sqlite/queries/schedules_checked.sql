-- A source of truth was compared until this time, which never goes back. $3 were missing.
UPDATE {{schema}}.headrace_schedules AS s SET checked_to = max(COALESCE(s.checked_to, $2), $2), missing = $3
WHERE s.name = $1
