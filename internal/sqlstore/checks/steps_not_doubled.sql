-- Warning: No step was carried out twice, by what its calls have answered.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step || ', which made ' || s.external_id || ' and ' || s.other_id), '')
FROM {{schema}}.headrace_steps AS s
WHERE s.other_id <> ''
