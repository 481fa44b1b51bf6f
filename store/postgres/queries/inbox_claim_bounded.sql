-- inbox_claim, with a lock_timeout ($7, in ms) that is in force for the insert only:
-- its rows come from a join with the setting, and the old value is put back when
-- all of them are counted. Where the wait is too long the statement fails, and the
-- caller's savepoint puts the old value back.
WITH bounded AS MATERIALIZED (
    SELECT before.lock_timeout AS old, set_config('lock_timeout', $7::bigint::text, true) AS new
    FROM (SELECT current_setting('lock_timeout') AS lock_timeout OFFSET 0) AS before
), won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state)
    SELECT $1::text, c.key, c.fingerprint, $4::text
    FROM bounded CROSS JOIN unnest($2::text[], $3::text[]) AS c (key, fingerprint)
    WHERE bounded.new IS NOT NULL
    ORDER BY c.key COLLATE "C"
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING key
)
SELECT pg_current_xact_id()::text, counted.n,
    CASE WHEN counted.n > 0 AND counted.n < cardinality($2::text[]) THEN (SELECT array_agg(won.key) FROM won) END,
    set_config('lock_timeout', CASE WHEN counted.n >= 0 THEN bounded.old END, true)
        || {{schema}}.headrace_limits($5::bigint, $6::bigint)
FROM (SELECT count(*) AS n FROM won) AS counted CROSS JOIN bounded
