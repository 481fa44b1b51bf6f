-- Who has paused or resumed a consumer: the row of the pause has only the latest one.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason)
VALUES ('consumer', $1, $2, $3, $4)
