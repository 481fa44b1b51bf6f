-- The letters behind a message of their strict order key that failed again are not sent. They are
-- found as in redrives_settle.
UPDATE {{schema}}.headrace_redrive_letters AS e INDEXED BY headrace_redrive_letters_order
SET state = 'skipped', why = c.value ->> 3
FROM json_each($1) AS c
WHERE e.redrive_id = c.value ->> 0 AND e.scope = c.value ->> 1 AND e.order_key = c.value ->> 2 AND e.order_key <> '' AND e.state = 'queued'
