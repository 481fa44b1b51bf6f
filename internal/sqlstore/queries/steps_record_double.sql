-- What a second call made. The first one's result stays. A person must say what becomes of the second:
-- what was decided before is in the audit of the letter.
UPDATE {{schema}}.headrace_steps AS s SET other_id = $5, by_whom = '', reason = ''
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.via <> '' AND s.call_id <> $4 AND s.other_id = ''
