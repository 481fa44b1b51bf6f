-- The letter that the message of a letter made when it failed again after a redrive.
SELECT COALESCE(max(l.id), 0) FROM {{schema}}.headrace_dead_letters AS l WHERE l.previous_id = $1 AND l.previous_id > 0
