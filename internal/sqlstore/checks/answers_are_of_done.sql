-- Every answer is of a message that is done.
SELECT count(*), COALESCE(min(a.scope || ' ' || a.key), '')
FROM {{schema}}.headrace_answers AS a
WHERE NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = a.scope AND i.key = a.key AND i.state = 'done'
)
