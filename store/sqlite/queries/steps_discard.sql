-- The steps of discarded messages need no person: what is not known of them counts as finished.
-- Those of which it is not known whether they were carried out are named.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN s.via = '' THEN 'skipped' ELSE 'done' END, by_whom = $2, reason = $3, changed_at = {{now}}
FROM json_each($1) AS c
WHERE s.scope = c.value ->> 0 AND s.key = c.value ->> 1 AND s.state IN ('pending', 'parked')
RETURNING scope, key, CASE WHEN via = '' THEN step ELSE '' END
