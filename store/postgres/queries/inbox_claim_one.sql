-- inbox_claim_bounded for one message: its key is $2, its fingerprint $3. Without arrays
-- it costs the server half as much, which is what a consumer with one message in flight
-- pays for each.
WITH bounded AS MATERIALIZED (
    SELECT before.lock_timeout AS old, set_config('lock_timeout', $7::bigint::text, true) AS new
    FROM (SELECT current_setting('lock_timeout') AS lock_timeout OFFSET 0) AS before
), won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state)
    SELECT $1::text, $2::text, $3::text, $4::text
    FROM bounded
    WHERE bounded.new IS NOT NULL
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING key
)
SELECT pg_current_xact_id()::text, counted.n, NULL,
    set_config('lock_timeout', CASE WHEN counted.n >= 0 THEN bounded.old END, true)
        || {{schema}}.headrace_limits($5::bigint, $6::bigint)
FROM (SELECT count(*) AS n FROM won) AS counted CROSS JOIN bounded
