-- The letters behind a message of their strict order key that failed again are not sent.
UPDATE {{schema}}.headrace_redrive_letters AS e
SET state = 'skipped', why = c.why
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS c (redrive_id, scope, order_key, why)
WHERE e.redrive_id = c.redrive_id AND e.scope = c.scope AND e.order_key = c.order_key AND e.order_key <> '' AND e.state = 'queued'
