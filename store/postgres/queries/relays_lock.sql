-- The relays of an outbox decide one at a time who serves it. The limit ($2, in ms) rides
-- along: it takes the lock from a process that was stopped.
SELECT pg_advisory_xact_lock($1), {{schema}}.headrace_limits($2, 0)
