-- Ready rows of the line of $1 that are on the line of $2 too.
DELETE FROM {{schema}}.headrace_outbox AS o
WHERE o.outbox = 'local/' || $1 AND (
    EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS t WHERE t.outbox = 'local/' || $2 AND t.shard = o.shard AND t.id = o.id)
    OR EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS t WHERE t.outbox = 'local/' || $2 AND t.shard = o.shard AND t.id = o.id)
)
