-- The trail of letters that go.
DELETE FROM {{schema}}.headrace_audit
WHERE subject_kind = 'letter' AND subject IN (SELECT CAST(c.value AS TEXT) FROM json_each($1) AS c)
