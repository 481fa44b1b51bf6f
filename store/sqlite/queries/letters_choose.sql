-- The ids of letters of a filter in a window, with what groups them, and with the contents of
-- their messages if those decide ($19). The window is as in letters_list.
SELECT l.id, l.error_fingerprint, l.consumer, l.handler, l.class, l.created_at,
    CASE WHEN $19 THEN l.payload END, CASE WHEN $19 THEN l.metadata END
FROM (
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
) AS l
WHERE ($1 = '' OR l.state = $1)
    AND ($3 = '' OR l.consumer = $3)
    AND ($4 = '' OR l.handler = $4)
    AND ($5 = '' OR l.topic = $5)
    AND ($6 = '' OR l.class = $6)
    AND ($7 = '' OR l.error_fingerprint = $7)
    AND ($8 = '' OR l.key = $8)
    AND ($9 IS NULL OR l.created_at >= $9)
    AND ($10 IS NULL OR l.created_at < $10)
    AND ($11 = '' OR l.build = $11)
    AND ($12 = '' OR l.host = $12)
    AND ($13 = '' OR instr(l.error, $13) > 0 OR instr(l.payload, CAST($13 AS BLOB)) > 0)
    AND ($14 IS NULL OR instr(l.metadata, $14) > 0)
    AND ($15 IS NULL OR instr(l.payload, $15) > 0 OR instr(l.payload, x'5c') > 0)
