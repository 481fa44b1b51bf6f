-- A request that no process took has no instance, and the others have one; a done one has a value, and one that is taken may say how far it is.
SELECT count(*), COALESCE(min(r.kind || ' ' || CAST(r.id AS TEXT)), '')
FROM {{schema}}.headrace_requests AS r
WHERE r.state NOT IN ('waiting', 'taken', 'done', 'refused', 'failed', 'expired')
    OR (r.state IN ('waiting', 'expired')) <> (r.instance = '') OR r.state <> 'taken' AND (r.state = 'done') <> (r.answer IS NOT NULL)
