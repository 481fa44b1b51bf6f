-- Every row is on one of the 64 shards.
SELECT count(*), COALESCE(min(s.place), '')
FROM (
    SELECT 'backlog' AS place, shard FROM {{schema}}.headrace_backlog
    UNION ALL
    SELECT 'outbox', shard FROM {{schema}}.headrace_outbox
    UNION ALL
    SELECT 'outbox held', shard FROM {{schema}}.headrace_outbox_held
) AS s
WHERE s.shard < 0 OR s.shard > 63
