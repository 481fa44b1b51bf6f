-- An idle look: for each shard one probe of the ready line and two of what is held,
-- for rows that are due and for the first that will be.
SELECT m.place - 1, ready.found IS NOT NULL OR due.found IS NOT NULL,
    (extract(epoch FROM later.due_at - clock_timestamp()) * 1000000)::bigint
FROM unnest($1::bigint[]) WITH ORDINALITY AS m (mark, place)
LEFT JOIN LATERAL (
    SELECT true AS found FROM {{schema}}.headrace_outbox AS o
    WHERE o.shard = (m.place - 1)::smallint AND o.id > m.mark
    ORDER BY o.id
    LIMIT 1
) AS ready ON true
LEFT JOIN LATERAL (
    SELECT true AS found FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.shard = (m.place - 1)::smallint AND h.due_at IS NOT NULL AND h.due_at <= statement_timestamp()
    ORDER BY h.due_at
    LIMIT 1
) AS due ON true
LEFT JOIN LATERAL (
    SELECT h.due_at FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.shard = (m.place - 1)::smallint AND h.due_at IS NOT NULL AND h.due_at > statement_timestamp()
    ORDER BY h.due_at
    LIMIT 1
) AS later ON true
WHERE ready.found OR due.found OR later.due_at IS NOT NULL
ORDER BY m.place
