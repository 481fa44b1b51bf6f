-- The consumer $2 has no subscription to the topics $1, or to any where there are none.
DELETE FROM {{schema}}.headrace_subscriptions
WHERE consumer = $2 AND (cardinality($1::text[]) = 0 OR topic = ANY ($1::text[]))
