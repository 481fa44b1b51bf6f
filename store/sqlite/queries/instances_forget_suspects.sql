-- Suspects of deaths that are long ago.
DELETE FROM {{schema}}.headrace_suspects WHERE at < (SELECT {{now}}) - $1
