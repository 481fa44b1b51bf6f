-- A message is no suspect any more.
DELETE FROM {{schema}}.headrace_suspects WHERE consumer = $1 AND message = $2
