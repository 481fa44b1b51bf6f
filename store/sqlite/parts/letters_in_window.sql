-- The letters of a window: of its source $16, named by $2, $7 or $8, with ids between $17 and $18.
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16 = 'all' AND l.id > $17 AND l.id < $18
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_open_id
WHERE $16 = 'open' AND l.state = 'open' AND l.id > $17 AND l.id < $18
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_group
WHERE $16 = 'group' AND l.state = 'open' AND l.error_fingerprint = $7 AND l.id > $17 AND l.id < $18
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_key
WHERE $16 = 'key' AND l.key = $8 AND l.id > $17 AND l.id < $18
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16 = 'ids' AND l.id IN (SELECT r.value FROM json_each($2) AS r) AND l.id > $17 AND l.id < $18
