-- Suspect mode ends, where it is on.
UPDATE {{schema}}.headrace_meta AS m SET suspect_until = NULL, suspect_since = NULL, suspect_by = '', suspect_reason = ''
WHERE m.one = 1 AND m.suspect_until IS NOT NULL
