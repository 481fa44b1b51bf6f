-- The letters of a window: of its source $16, named by $2, $7 or $8, with ids between $17 and $18.
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16::text = 'all' AND l.id > $17::bigint AND l.id < $18::bigint
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16::text = 'open' AND l.state = 'open' AND l.id > $17::bigint AND l.id < $18::bigint
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16::text = 'group' AND l.state = 'open'
AND l.error_fingerprint = $7::text AND l.id > $17::bigint AND l.id < $18::bigint
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16::text = 'key'
AND l.key = $8::text AND l.id > $17::bigint AND l.id < $18::bigint
UNION ALL
SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
WHERE $16::text = 'ids' AND l.id = ANY ($2::bigint[]) AND l.id > $17::bigint AND l.id < $18::bigint
