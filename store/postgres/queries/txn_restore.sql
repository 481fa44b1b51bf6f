-- What a handler may have set for its transaction, and our statements depend on, is again
-- what it was when the session began. headrace_limits has noted what was set after that.
SELECT set_config('session_authorization', NULL, true),
    set_config('role', NULLIF(current_setting('headrace.role', true), ''), true),
    set_config('statement_timeout', NULLIF(current_setting('headrace.statement_timeout', true), ''), true),
    set_config('lock_timeout', NULL, true),
    set_config('datestyle', NULL, true),
    set_config('bytea_output', NULL, true),
    set_config('client_encoding', NULL, true),
    set_config('synchronous_commit', NULL, true)
