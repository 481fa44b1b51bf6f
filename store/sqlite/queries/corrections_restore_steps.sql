-- The steps that a discard of these messages has finished need a person again: whether they were
-- called is as unknown as before.
UPDATE {{schema}}.headrace_steps AS s
SET state = 'parked', by_whom = '', reason = '', changed_at = {{now}}
FROM json_each($1) AS c
WHERE s.scope = c.value ->> 0 AND s.key = c.value ->> 1 AND s.state = 'skipped' AND s.by_whom <> ''
