-- The dead letters by what went wrong, the largest group first.
SELECT class, count(*), min(error) FROM headrace_dead_letters
WHERE state <> 'redriven' GROUP BY class, error_print ORDER BY count(*) DESC, class, min(error) LIMIT $1
