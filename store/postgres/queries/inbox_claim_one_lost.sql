-- What inbox_claim_one does behind the insert, where there was nothing to insert: it puts the lock
-- timeout back, sets the limits ($1 and $2), and returns the transaction's id.
SELECT pg_current_xact_id()::text,
    CASE WHEN set_config('lock_timeout', current_setting('headrace.lock_timeout'), true) IS NOT NULL
        THEN {{schema}}.headrace_limits($1::bigint, $2::bigint) END
