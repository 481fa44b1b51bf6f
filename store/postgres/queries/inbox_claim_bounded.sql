-- inbox_claim, with a lock_timeout ($5, in ms) that is in force for the insert only:
-- its rows come from a join with the setting, and the old value is put back when
-- all of them are counted. Where the wait is too long the statement fails, and the
-- caller's savepoint puts the old value back.
WITH before AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS lock_timeout
), bounded AS MATERIALIZED (
    SELECT before.lock_timeout AS old, set_config('lock_timeout', $5::bigint::text, true) AS new FROM before
), won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint)
    SELECT c.scope, c.key, c.fingerprint
    FROM bounded CROSS JOIN unnest($1::text[], $2::text[], $3::text[]) AS c (scope, key, fingerprint)
    WHERE bounded.new IS NOT NULL
    ORDER BY c.scope COLLATE "C", c.key COLLATE "C"
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING scope, key
), counted AS MATERIALIZED (
    SELECT count(*) AS n FROM won
), here AS MATERIALIZED (
    SELECT pg_current_xact_id()::text AS id,
        CASE WHEN counted.n >= 0 THEN set_config('lock_timeout', bounded.old, true) END AS reset,
        CASE WHEN $4::bigint > 0 THEN set_config('idle_in_transaction_session_timeout', $4::bigint::text, true) END AS idle
    FROM counted CROSS JOIN bounded
)
SELECT here.id, won.scope, won.key FROM here LEFT JOIN won ON true
