-- The steps of discarded messages need no person: what is not known of them counts as finished.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN s.via = '' THEN 'skipped' ELSE 'done' END, by_whom = $2, reason = $3, changed_at = {{now}}
FROM json_each($1) AS c
WHERE s.scope = c.value ->> 0 AND s.key = c.value ->> 1 AND s.state IN ('pending', 'parked')
