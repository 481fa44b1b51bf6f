-- An event stands on one line of the outbox.
SELECT count(*), COALESCE(min(o.id)::text, '')
FROM {{schema}}.headrace_outbox AS o
JOIN {{schema}}.headrace_outbox_held AS h ON h.outbox = o.outbox AND h.id = o.id
