-- The sink of a live relay that serves the outbox $2 with another sink than $3; '' if
-- there is none.
SELECT COALESCE(min(r.sink), '') FROM {{schema}}.headrace_relays AS r
WHERE r.outbox = $2 AND r.id <> $1 AND r.serves AND r.sink <> '' AND $3 <> '' AND r.sink <> $3
    AND r.beat_at > (SELECT {{now}} - $4)
