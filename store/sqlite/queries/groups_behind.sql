-- How old the change is that was written first and not added up, in µs; no row if there is none.
SELECT {{now}} - c.at
FROM {{schema}}.headrace_letter_changes AS c
ORDER BY c.id
LIMIT 1
