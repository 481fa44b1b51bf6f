-- The letters of a source: $1, named by $2 or $3, with ids between $4 and $5.
SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
WHERE $1 = 'all' AND l.id > $4 AND l.id < $5
UNION ALL
SELECT l.id FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_open_id
WHERE $1 = 'open' AND l.state = 'open' AND l.id > $4 AND l.id < $5
UNION ALL
SELECT l.id FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_group
WHERE $1 = 'group' AND l.state = 'open' AND l.error_fingerprint = $3 AND l.id > $4 AND l.id < $5
UNION ALL
SELECT l.id FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_key
WHERE $1 = 'key' AND l.key = $3 AND l.id > $4 AND l.id < $5
UNION ALL
SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
WHERE $1 = 'ids' AND l.id IN (SELECT r.value FROM json_each($2) AS r) AND l.id > $4 AND l.id < $5
