-- The oldest changes go, to be added up.
WITH gone AS (
    DELETE FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.id = ANY (ARRAY (SELECT o.id FROM {{schema}}.headrace_letter_changes AS o ORDER BY o.id LIMIT $1))
    RETURNING c.*
)
SELECT c.consumer, c.handler, c.error_fingerprint, c.class, c.build, c.opened, c.closed, c.expired, c.discarded, COALESCE(c.oldest, 0), COALESCE(c.newest, 0), c.at
FROM gone AS c
ORDER BY c.id
