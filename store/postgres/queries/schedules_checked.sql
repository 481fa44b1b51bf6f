-- A source of truth was compared until this time, which never goes back. $3 were missing, and
-- what came from $4 to $5 was not compared.
UPDATE {{schema}}.headrace_schedules AS s
SET checked_to = GREATEST(s.checked_to, $2::timestamptz), missing = $3, gap_from = $4, gap_to = $5
WHERE s.name = $1
