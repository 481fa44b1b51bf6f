-- A source of truth was compared until this time, which never goes back. $3 were missing.
UPDATE {{schema}}.headrace_schedules AS s SET checked_to = GREATEST(s.checked_to, $2::timestamptz), missing = $3
WHERE s.name = $1
