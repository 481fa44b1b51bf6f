-- No key is empty or longer than 512 bytes.
SELECT count(*), COALESCE(min(k.scope || ' ' || substr(k.key, 1, 64)), '')
FROM (
    SELECT scope, key FROM {{schema}}.headrace_inbox
    UNION ALL
    SELECT scope, key FROM {{schema}}.headrace_attempts
    UNION ALL
    SELECT scope, key FROM {{schema}}.headrace_backlog
    UNION ALL
    SELECT scope, key FROM {{schema}}.headrace_dead_letters
) AS k
WHERE k.key = '' OR octet_length(k.key) > 512
