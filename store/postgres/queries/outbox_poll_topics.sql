-- An idle look as that of outbox_poll, for rows of the topics $3, or where $4 of all
-- others; and for each shard the highest id on the ready line.
SELECT m.place - 1, ready.found IS NOT NULL OR due.found IS NOT NULL,
    (extract(epoch FROM later.due_at - {{now}}) * 1000000)::bigint, COALESCE(top.id, 0)
FROM unnest($1::bigint[]) WITH ORDINALITY AS m (mark, place)
LEFT JOIN LATERAL (
    SELECT true AS found FROM {{schema}}.headrace_outbox AS o
    WHERE o.outbox = $2 AND o.shard = (m.place - 1)::smallint AND o.id > m.mark
        AND (o.topic = ANY ($3::text[])) <> $4
    ORDER BY o.id
    LIMIT 1
) AS ready ON true
LEFT JOIN LATERAL (
    SELECT true AS found FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.outbox = $2 AND h.shard = (m.place - 1)::smallint AND h.due_at IS NOT NULL AND h.due_at <= (SELECT {{now}})
        AND (h.topic = ANY ($3::text[])) <> $4
    ORDER BY h.due_at
    LIMIT 1
) AS due ON true
LEFT JOIN LATERAL (
    SELECT h.due_at FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.outbox = $2 AND h.shard = (m.place - 1)::smallint AND h.due_at IS NOT NULL AND h.due_at > (SELECT {{now}})
        AND (h.topic = ANY ($3::text[])) <> $4
    ORDER BY h.due_at
    LIMIT 1
) AS later ON true
LEFT JOIN LATERAL (
    SELECT o.id FROM {{schema}}.headrace_outbox AS o
    WHERE o.outbox = $2 AND o.shard = (m.place - 1)::smallint
    ORDER BY o.id DESC
    LIMIT 1
) AS top ON true
ORDER BY m.place
