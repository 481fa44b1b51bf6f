-- The oldest letters of a span, at most $6: where they end, and how many there are. An index has
-- those of a source ($1): all letters, the open ones, a group ($3), a key ($3), or ids ($2).
SELECT COALESCE(max(w.id), 0), count(*)
FROM (
    (SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
     WHERE $1::text = 'all' AND l.id > $4::bigint AND l.id < $5::bigint
     ORDER BY l.id LIMIT $6)
    UNION ALL
    (SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
     WHERE $1::text = 'open' AND l.state = 'open' AND l.id > $4::bigint AND l.id < $5::bigint
     ORDER BY l.id LIMIT $6)
    UNION ALL
    (SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
     WHERE $1::text = 'group' AND l.state = 'open'
         AND l.error_fingerprint = $3::text AND l.id > $4::bigint AND l.id < $5::bigint
     ORDER BY l.error_fingerprint, l.id LIMIT $6)
    UNION ALL
    (SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
     WHERE $1::text = 'key'
         AND l.key = $3::text AND l.id > $4::bigint AND l.id < $5::bigint
     ORDER BY l.key, l.id LIMIT $6)
    UNION ALL
    (SELECT l.id FROM {{schema}}.headrace_dead_letters AS l
     WHERE $1::text = 'ids' AND l.id = ANY ($2::bigint[]) AND l.id > $4::bigint AND l.id < $5::bigint
     ORDER BY l.id LIMIT $6)
) AS w
