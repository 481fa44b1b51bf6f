SELECT key, n, class, CAST(extract(epoch FROM at) * 1000000 AS bigint) FROM headrace_attempts
