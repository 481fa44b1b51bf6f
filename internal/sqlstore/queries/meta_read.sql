-- Which schema this is, and which builds run on it. Tables from before the column fingerprint
-- have none: there the name in the inner query is that of the outer one.
SELECT id, version, readable_from, (SELECT fingerprint FROM {{schema}}.headrace_meta)
FROM {{schema}}.headrace_meta, (SELECT '' AS fingerprint) AS without
