-- The marks of a dead instance go, when their messages are suspects.
DELETE FROM {{schema}}.headrace_marks WHERE instance = $1
