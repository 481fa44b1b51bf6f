SELECT key, n, class, at FROM headrace_attempts
