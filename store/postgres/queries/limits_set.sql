-- What bounds the rest of a transaction, in ms: its waits for locks ($1), so that live work
-- never waits long behind one that waits, and the limits ($2 and $3; 0 leaves the
-- server's).
SELECT set_config('lock_timeout', $1::bigint::text, true) || {{schema}}.headrace_limits($2::bigint, $3::bigint)
