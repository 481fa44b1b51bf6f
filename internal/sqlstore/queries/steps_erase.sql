-- The results of a message that ended go; that its steps are done stays.
UPDATE {{schema}}.headrace_steps AS s SET result = NULL, error = 'its result was erased'
WHERE s.scope = $1 AND s.key = $2 AND s.result IS NOT NULL
    AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_inbox AS i
        WHERE i.scope = s.scope AND i.key = s.key AND i.state IN ('done', 'discarded')
    )
