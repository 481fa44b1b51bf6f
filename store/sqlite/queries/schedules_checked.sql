-- A source of truth was compared until this time. It never goes back.
UPDATE {{schema}}.headrace_schedules AS s SET checked_to = max(COALESCE(s.checked_to, $2), $2) WHERE s.name = $1
