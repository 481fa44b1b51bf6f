-- The answer to a message goes. Only messages that are done have one.
DELETE FROM {{schema}}.headrace_answers AS a WHERE a.scope = $1 AND a.key = $2
