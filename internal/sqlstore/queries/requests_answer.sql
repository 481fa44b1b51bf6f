-- Only who took it answers, and once. What it had of a message goes then: the result of a step, and
-- an edit, are kept where they can be erased.
UPDATE {{schema}}.headrace_requests
SET state = $3, answer = $4, error = $5,
    args = CASE WHEN $3 <> 'taken' AND kind IN ('edit', 'resolve-step', 'send-signal') THEN 'null' ELSE args END
WHERE id = $1 AND instance = $2 AND state = 'taken'
