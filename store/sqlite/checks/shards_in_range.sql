-- Every row stands on one of the 16 shards.
SELECT count(*), COALESCE(min(s.line), '')
FROM (
    SELECT 'backlog' AS line, shard FROM {{schema}}.headrace_backlog
    UNION ALL
    SELECT 'outbox', shard FROM {{schema}}.headrace_outbox
    UNION ALL
    SELECT 'outbox held', shard FROM {{schema}}.headrace_outbox_held
) AS s
WHERE s.shard < 0 OR s.shard > 15
