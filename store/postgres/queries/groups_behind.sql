-- How old the change is that was written first and not added up, in µs; no row if there is none.
SELECT (EXTRACT(EPOCH FROM {{now}} - c.at) * 1000000)::bigint
FROM {{schema}}.headrace_letter_changes AS c
ORDER BY c.id
LIMIT 1
