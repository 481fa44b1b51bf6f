-- The end of a range of $2 ids that begins with the first above $1, and whether there are
-- rows behind it. Ids have gaps, and no plan reads more rows than the range holds.
SELECT COALESCE(f.id + $2, 0), (SELECT b.id FROM {{schema}}.headrace_backlog AS b WHERE b.id > f.id + $2 ORDER BY b.id LIMIT 1) IS NOT NULL
FROM (SELECT (SELECT b.id FROM {{schema}}.headrace_backlog AS b WHERE b.id > $1 ORDER BY b.id LIMIT 1) AS id) AS f
