-- Every letter that was redriven or discarded has a record of who did it.
SELECT count(*), COALESCE(min(l.id)::text, '')
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.state <> 'open' AND NOT EXISTS (
    SELECT FROM {{schema}}.headrace_audit AS a
    WHERE a.subject_kind = 'letter' AND a.subject = l.id::text AND a.action = CASE l.state WHEN 'redriven' THEN 'redrive' ELSE 'discard' END
)
