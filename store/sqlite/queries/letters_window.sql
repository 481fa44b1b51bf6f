-- The newest letters of a span, at most $6: where they end, and how many there are. An index has
-- those of a source ($1): all letters, the open ones, a group ($3), a key ($3), or ids ($2).
SELECT COALESCE(min(w.id), 0), count(*)
FROM (
    SELECT l.id
    FROM (
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
    ) AS l
    ORDER BY l.id DESC
    LIMIT $6
) AS w
