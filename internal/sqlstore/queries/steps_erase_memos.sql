-- The shared results that the steps of a message that ended have used, or made: whatever the name
-- of the step was. They can hold what the message did.
DELETE FROM {{schema}}.headrace_memos AS m
WHERE m.result IS NOT NULL AND (m.system, m.input) IN (
    SELECT s.system, s.input_hash
    FROM {{schema}}.headrace_steps AS s
    JOIN {{schema}}.headrace_inbox AS i ON i.scope = s.scope AND i.key = s.key AND i.state IN ('done', 'discarded')
    WHERE s.scope = $1 AND s.key = $2 AND s.input_hash <> ''
)
