-- What earlier benchmarks wrote goes to disk before the next one begins.
CHECKPOINT
