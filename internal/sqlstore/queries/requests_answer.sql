-- Only who took it answers, and once.
UPDATE {{schema}}.headrace_requests SET state = $3, answer = $4, error = $5
WHERE id = $1 AND instance = $2 AND state = 'taken'
