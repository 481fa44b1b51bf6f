-- As waiting_last, of the rows with an error fingerprint.
SELECT COALESCE(f.id + $2, 0), (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND b.error_fingerprint = $3 AND b.id > f.id + $2
        ORDER BY b.error_fingerprint, b.id
        LIMIT 1
    ) IS NOT NULL
FROM (
    SELECT (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND b.error_fingerprint = $3 AND b.id > $1
        ORDER BY b.error_fingerprint, b.id
        LIMIT 1
    ) AS id
) AS f
