-- What became of a group ($2), or of all that were due until $3 and still are: whether
-- they were passed on ($4), and for how many microseconds they are not due now ($5).
UPDATE {{schema}}.headrace_alert_groups
SET waiting = CASE WHEN $4 THEN 0 ELSE waiting END,
    failures = CASE WHEN $4 THEN 0 ELSE failures + 1 END,
    passed_at = CASE WHEN $4 THEN {{now}} ELSE passed_at END,
    tried_at = {{now}},
    due_at = {{now}} + $5
WHERE consumer = $1 AND waiting > 0 AND due_at <= $3 AND ($2 = '' OR grp = $2)
