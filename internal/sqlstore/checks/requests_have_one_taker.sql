-- A request that waits has no instance, and one that was taken has one; only done ones have a value.
SELECT count(*), COALESCE(min(r.kind || ' ' || CAST(r.id AS TEXT)), '')
FROM {{schema}}.headrace_requests AS r
WHERE r.state NOT IN ('waiting', 'taken', 'done', 'refused', 'failed')
    OR (r.state = 'waiting') <> (r.instance = '') OR (r.state = 'done') <> (r.answer IS NOT NULL)
