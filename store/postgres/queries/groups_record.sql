-- What a person did to a group.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason, detail)
VALUES ('group', $1, $2, $3, '', $4)
