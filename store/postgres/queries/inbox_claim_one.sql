-- inbox_claim_bounded for one message: its key is $2, its fingerprint $3. Without arrays
-- it costs the server half as much, which is what a consumer with one message in flight
-- pays for each. The lock timeout is set, and the one before noted, while the row is made:
-- that is before the row is inserted, and once, because there is one row.
WITH won AS (
    INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state)
    SELECT $1::text, $2::text, $3::text, CASE
        WHEN set_config('headrace.lock_timeout', current_setting('lock_timeout'), true) IS NOT NULL
            THEN CASE WHEN set_config('lock_timeout', $7::bigint::text, true) IS NOT NULL THEN $4::text END
        END
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING key
)
SELECT pg_current_xact_id()::text, counted.n, NULL,
    set_config('lock_timeout', CASE WHEN counted.n >= 0 THEN current_setting('headrace.lock_timeout') END, true)
        || {{schema}}.headrace_limits($5::bigint, $6::bigint)
FROM (SELECT count(*) AS n FROM won) AS counted
