-- What a second call made. The first one's result stays.
UPDATE {{schema}}.headrace_steps AS s SET other_id = $5
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.via <> '' AND s.call_id <> $4 AND s.other_id = ''
