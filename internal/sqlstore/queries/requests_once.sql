-- The request that a form has made; the index has no rows without a form.
SELECT id FROM {{schema}}.headrace_requests WHERE once = $1 AND once <> ''
