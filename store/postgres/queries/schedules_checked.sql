-- A source of truth was compared until this time. It never goes back.
UPDATE {{schema}}.headrace_schedules AS s SET checked_to = GREATEST(s.checked_to, $2::timestamptz) WHERE s.name = $1
