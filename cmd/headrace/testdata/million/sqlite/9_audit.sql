-- A decision for each of $1 letters that is not open, and as many of requests.
INSERT INTO headrace_audit (subject_kind, subject, action, by_whom, reason, at)
SELECT k.kind, CAST(l.id AS TEXT), 'discard', 'ann', 'no use', 1 FROM headrace_dead_letters AS l
CROSS JOIN (SELECT 'letter' AS kind UNION ALL SELECT 'request') AS k WHERE l.state = 'discarded' AND $1 > 0
