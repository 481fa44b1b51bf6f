-- The consumer's dead letters by what went wrong, the largest group first, and how many there are in all.
SELECT class, count(*), min(error), CAST(sum(count(*)) OVER () AS bigint) FROM headrace_dead_letters
WHERE consumer = $2 AND state <> 'redriven' GROUP BY class, error_fingerprint ORDER BY count(*) DESC, class, min(error) LIMIT $1
