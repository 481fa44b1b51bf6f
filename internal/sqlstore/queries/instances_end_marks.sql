-- What ends in order runs nothing.
DELETE FROM {{schema}}.headrace_marks WHERE instance = $1
