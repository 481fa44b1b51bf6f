-- The answer to a message.
SELECT a.answer FROM {{schema}}.headrace_answers AS a WHERE a.scope = $1 AND a.key = $2
