-- Suspect mode; no time is off.
SELECT m.suspect_until, m.suspect_since, m.suspect_by, m.suspect_reason FROM {{schema}}.headrace_meta AS m WHERE m.one = 1
