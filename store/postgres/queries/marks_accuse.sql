-- The messages in the marks of a dead instance become suspects, and the marks go.
WITH gone AS (
    DELETE FROM {{schema}}.headrace_marks WHERE instance = $1 RETURNING messages, alone
), ran AS (
    SELECT substring(gone.messages FROM 16 * h.n + 1 FOR 16) AS message, bool_or(gone.alone)::integer AS alone
    FROM gone
    CROSS JOIN LATERAL generate_series(0, octet_length(gone.messages) / 16 - 1) AS h (n)
    GROUP BY 1
)
INSERT INTO {{schema}}.headrace_suspects AS s (consumer, message, alone, beside)
SELECT i.consumer, ran.message, ran.alone, 1 - ran.alone
FROM {{schema}}.headrace_instances AS i CROSS JOIN ran
WHERE i.id = $1
ORDER BY ran.message
ON CONFLICT (consumer, message) DO UPDATE SET alone = s.alone + excluded.alone, beside = s.beside + excluded.beside, at = excluded.at
