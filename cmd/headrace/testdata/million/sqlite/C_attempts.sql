-- A failed attempt of each message that retries, and of each letter that is open.
INSERT INTO headrace_attempts (scope, key, n, class, error, error_type, duration_us, host, build, at)
SELECT i.scope, i.key, 1, 'transient', 'context deadline exceeded', 'context.deadlineExceededError', 1000, 'pod-1', 'v1.8', 1
FROM headrace_inbox AS i WHERE i.state IN ('waiting', 'dead') AND $1 > 0
