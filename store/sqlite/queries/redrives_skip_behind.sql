-- The letters behind a message of their strict order key that failed again are not sent.
UPDATE {{schema}}.headrace_redrive_letters AS e
SET state = 'skipped', why = c.value ->> 2
FROM json_each($2) AS c
WHERE e.redrive_id = $1 AND e.scope = c.value ->> 0 AND e.order_key = c.value ->> 1 AND e.order_key <> '' AND e.state = 'queued'
