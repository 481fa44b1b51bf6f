-- The steps that a discard of these messages has finished need a person again: whether they were
-- called is as unknown as before.
UPDATE {{schema}}.headrace_steps AS s
SET state = 'parked', by_whom = '', reason = '', changed_at = {{now}}
FROM unnest($1::text[], $2::text[]) AS c (scope, key)
WHERE s.scope = c.scope AND s.key = c.key AND s.state = 'skipped' AND s.by_whom <> ''
