-- Letters that were found old in this transaction.
DELETE FROM {{schema}}.headrace_dead_letters WHERE id IN (SELECT c.value FROM json_each($1) AS c)
