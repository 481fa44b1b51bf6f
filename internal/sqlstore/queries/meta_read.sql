-- Which schema this is, and which builds run on it.
SELECT id, version, readable_from FROM {{schema}}.headrace_meta
