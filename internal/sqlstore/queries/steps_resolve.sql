-- What a person says of a step. A new generation has made no call yet.
UPDATE {{schema}}.headrace_steps AS s
SET state = $4, generation = $5, result = $6, external_id = $7, via = $8, error = $9, by_whom = $10, reason = $11, input_hash = $12, changed_at = {{now}},
    first_call_at = CASE WHEN s.generation = $5 THEN s.first_call_at END
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3
