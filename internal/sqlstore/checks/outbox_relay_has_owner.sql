-- An outbox that a relay publishes has an owner, and owners have names and no line.
SELECT count(*), COALESCE(min(w.name), '')
FROM (
    SELECT DISTINCT 'outbox ' || r.outbox AS name FROM {{schema}}.headrace_relays AS r
    WHERE NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_owners AS o WHERE o.outbox = r.outbox)
    UNION ALL
    SELECT 'owner ' || o.consumer || ' of ' || o.outbox FROM {{schema}}.headrace_outbox_owners AS o
    WHERE o.consumer = '' OR o.outbox = '' OR o.outbox LIKE '%/%'
) AS w
