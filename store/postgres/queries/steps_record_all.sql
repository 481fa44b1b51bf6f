-- steps_record_done for many calls. A result is hexadecimal after an x; '' is none.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN u.error = '' THEN 'done' ELSE 'parked' END, call_id = u.call_id, generation = u.generation, result = decode(substr(NULLIF(u.result, ''), 2), 'hex'),
    external_id = u.external_id, via = u.via, error = u.error, changed_at = {{now}}
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[])
    AS u (scope, key, step, call_id, generation, result, external_id, via, error)
CROSS JOIN {{schema}}.headrace_durable() AS durable
WHERE durable <> '' AND s.scope = u.scope AND s.key = u.key AND s.step = u.step AND s.via = ''
