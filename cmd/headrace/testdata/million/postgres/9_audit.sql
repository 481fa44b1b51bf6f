-- A decision for each of $1 letters that is not open, and as many of requests.
INSERT INTO headrace_audit (subject_kind, subject, action, by_whom, reason)
SELECT k.kind, l.id::text, 'discard', 'ann', 'no use' FROM headrace_dead_letters AS l
CROSS JOIN (VALUES ('letter'), ('request')) AS k (kind) WHERE l.state = 'discarded' AND $1::bigint > 0
