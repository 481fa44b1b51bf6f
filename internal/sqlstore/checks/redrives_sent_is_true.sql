-- A letter that a redrive has sent is not open; one that waits or was skipped was not sent by it.
-- Letters under stand-in keys are closed when they are skipped, and restored ones are open again.
SELECT count(*), COALESCE(min(e.redrive_id || ' ' || e.letter_id), '')
FROM {{schema}}.headrace_redrive_letters AS e
JOIN {{schema}}.headrace_redrives AS r ON r.id = e.redrive_id
JOIN {{schema}}.headrace_dead_letters AS l ON l.id = e.letter_id
WHERE e.state IN ('sent', 'succeeded', 'failed', 'unknown') AND l.state = 'open'
        AND NOT (r.kind = 'discard' AND EXISTS (
            SELECT 1 FROM {{schema}}.headrace_audit AS a
            WHERE a.subject_kind = 'letter' AND a.subject = CAST(l.id AS TEXT) AND a.action = 'restore'
        ))
    OR e.state IN ('queued', 'skipped') AND l.state <> 'open' AND substr(l.key, 1, 9) <> 'stand-in:' AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_audit AS a
        WHERE a.subject_kind = 'letter' AND a.subject = CAST(l.id AS TEXT) AND a.redrive_id = r.id
    )
