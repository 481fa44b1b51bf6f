-- The newest letter up to an id, and when it was written.
SELECT l.id, l.created_at FROM {{schema}}.headrace_dead_letters AS l WHERE l.id <= $1 ORDER BY l.id DESC LIMIT 1
