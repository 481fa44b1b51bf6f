-- steps_record_done for many calls. A result is hexadecimal after an x; '' is none.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN u.value ->> 8 = '' THEN 'done' ELSE 'parked' END, call_id = u.value ->> 3, generation = u.value ->> 4, result = unhex(substr(NULLIF(u.value ->> 5, ''), 2)),
    external_id = u.value ->> 6, via = u.value ->> 7, error = u.value ->> 8, changed_at = {{now}}
FROM json_each($1) AS u
WHERE s.scope = u.value ->> 0 AND s.key = u.value ->> 1 AND s.step = u.value ->> 2 AND s.via = ''
