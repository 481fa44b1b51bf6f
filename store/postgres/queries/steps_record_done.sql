-- A result, from any process that has it, also one that has lost its lease, and after a person
-- or another call has changed the row. A result that is recorded stays. With an error
-- it could not be kept, and a person must give it.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN $9 = '' THEN 'done' ELSE 'parked' END, call_id = $4, generation = $5, result = $6, external_id = $7, via = $8, error = $9, changed_at = {{now}}
FROM {{schema}}.headrace_durable() AS durable
WHERE durable <> '' AND s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.via = ''
