-- The right to handle messages of one scope ($1): a row for each that has none, in the
-- order of keys that all claims share, so that two groups never wait for each other. One
-- row answers: the transaction's id, how many were won, and which where that is neither
-- none nor all. The limits ($5 and $6, in ms; 0 leaves the server's) ride along.
WITH won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state)
    SELECT $1::text, c.key, c.fingerprint, $4::text
    FROM unnest($2::text[], $3::text[]) AS c (key, fingerprint)
    ORDER BY c.key COLLATE "C"
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING key
)
SELECT pg_current_xact_id()::text, counted.n,
    CASE WHEN counted.n > 0 AND counted.n < cardinality($2::text[]) THEN (SELECT array_agg(won.key) FROM won) END,
    {{schema}}.headrace_limits($5::bigint, $6::bigint)
FROM (SELECT count(*) AS n FROM won) AS counted
