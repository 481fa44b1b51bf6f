-- Alerts are appended, in the order given. Nothing is counted here: work only appends.
INSERT INTO {{schema}}.headrace_alerts (consumer, grp, kind, handler, topic, class, error_fingerprint, letter_id, at)
SELECT u.value ->> 0, u.value ->> 1, u.value ->> 2, u.value ->> 3, u.value ->> 4, u.value ->> 5, u.value ->> 6, u.value ->> 7, {{now}}
FROM json_each($1) AS u
ORDER BY u.key
