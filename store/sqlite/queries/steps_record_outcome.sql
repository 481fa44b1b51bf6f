-- What else came of a call, unless another one has begun or a result is known. A new
-- generation has made no call yet. With via ($10) the step is done without its result, which a
-- person must give. With a lease ($8, $9; 0 is none) it must still be held.
UPDATE {{schema}}.headrace_steps AS s
SET state = $5, generation = $6, error = $7, changed_at = {{now}},
    first_call_at = CASE WHEN s.generation = $6 THEN s.first_call_at END
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.call_id = $4
    AND s.via = $10 AND (s.state = 'pending' OR s.state = 'done' AND s.result IS NULL)
    AND ($8 = 0 OR EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.id = $8 AND b.status = 'leased' AND b.token = $9))
