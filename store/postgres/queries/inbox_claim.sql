-- The right to handle messages: a row for each that has none, in the order of keys
-- that all claims share, so that two groups never wait for each other. The id of
-- the transaction and its idle timeout ($4, in ms; 0 leaves the server's) ride along.
WITH won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint)
    SELECT c.scope, c.key, c.fingerprint
    FROM unnest($1::text[], $2::text[], $3::text[]) AS c (scope, key, fingerprint)
    ORDER BY c.scope COLLATE "C", c.key COLLATE "C"
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING scope, key
), here AS MATERIALIZED (
    SELECT pg_current_xact_id()::text AS id,
        CASE WHEN $4::bigint > 0 THEN set_config('idle_in_transaction_session_timeout', $4::bigint::text, true) END AS idle
)
SELECT here.id, won.scope, won.key FROM here LEFT JOIN won ON true
