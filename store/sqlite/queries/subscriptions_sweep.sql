-- The rows of the line 'local/' that subscriptions_sweep_copy has copied.
DELETE FROM {{schema}}.headrace_outbox
WHERE rowid IN (
    SELECT o.rowid FROM {{schema}}.headrace_outbox AS o
    WHERE o.outbox = 'local/' AND o.topic IN (SELECT topic FROM {{schema}}.headrace_subscriptions)
    ORDER BY o.shard, o.id
    LIMIT $1
)
