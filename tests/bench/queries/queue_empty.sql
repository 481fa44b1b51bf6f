-- What the benchmark before left would be vacuumed while the next one runs.
TRUNCATE headrace_queue
