-- inbox_claim_bounded for one message: its key is $2, its fingerprint $3. A plain insert costs the
-- server two thirds of one that is counted, which is what a consumer with one message in flight pays
-- for each. No row answers where the message has a row: inbox_claim_one_lost then does the rest. The lock timeout is
-- set, and the one before noted, while the row is made: that is before the row is inserted, and once.
INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state)
VALUES ($1::text, $2::text, $3::text, CASE
        WHEN set_config('headrace.lock_timeout', current_setting('lock_timeout'), true) IS NOT NULL
            THEN CASE WHEN set_config('lock_timeout', $7::bigint::text, true) IS NOT NULL THEN $4::text END
        END)
ON CONFLICT (scope, key) DO NOTHING
RETURNING pg_current_xact_id()::text,
    CASE WHEN set_config('lock_timeout', current_setting('headrace.lock_timeout'), true) IS NOT NULL
        THEN {{schema}}.headrace_limits($5::bigint, $6::bigint) END
