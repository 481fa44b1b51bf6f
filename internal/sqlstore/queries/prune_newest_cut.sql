-- The newest cut of a consumer, or of all consumers by hand.
SELECT max(p.cut) FROM {{schema}}.headrace_prunes AS p WHERE p.consumer IN ($1, '')
