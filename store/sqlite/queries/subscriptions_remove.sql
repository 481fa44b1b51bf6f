-- The consumer $2 has no subscription to the topics $1, or to any where there are none.
DELETE FROM {{schema}}.headrace_subscriptions
WHERE consumer = $2 AND (json_array_length($1) = 0 OR topic IN (SELECT value FROM json_each($1)))
