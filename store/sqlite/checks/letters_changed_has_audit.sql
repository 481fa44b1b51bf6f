-- Every letter that was redriven or discarded has a record of who did it.
SELECT count(*), COALESCE(min(l.id), '')
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.state <> 'open' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_audit AS a
    WHERE a.subject_kind = 'letter' AND a.subject = CAST(l.id AS TEXT) AND a.action = CASE l.state WHEN 'redriven' THEN 'redrive' ELSE 'discard' END
)
