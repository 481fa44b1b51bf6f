-- No letter is written while all are counted.
LOCK TABLE {{schema}}.headrace_dead_letters IN SHARE MODE
