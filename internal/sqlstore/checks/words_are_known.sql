-- States, statuses, reasons, classes and actions are words that this version knows.
SELECT count(*), COALESCE(min(w.word), '')
FROM (
    SELECT 'inbox ' || state AS word FROM {{schema}}.headrace_inbox
    WHERE state <> 'done' AND state NOT IN ('waiting', 'dead', 'discarded')
    UNION ALL
    SELECT 'backlog ' || status FROM {{schema}}.headrace_backlog
    WHERE status NOT IN ('ready', 'delayed', 'blocked', 'leasable', 'leased')
    UNION ALL
    SELECT 'outbox ' || reason FROM {{schema}}.headrace_outbox_held
    WHERE reason NOT IN ('delayed', 'backoff', 'parked', 'behind')
    UNION ALL
    SELECT 'letter ' || state || ' ' || class FROM {{schema}}.headrace_dead_letters
    WHERE state NOT IN ('open', 'redriven', 'discarded')
        OR class NOT IN ('exhausted', 'permanent', 'conflict', 'undecodable', 'crashed', 'parked', 'ingested', 'cancelled')
    UNION ALL
    SELECT 'group ' || state FROM {{schema}}.headrace_groups
    WHERE state NOT IN ('new', 'ongoing', 'escalating', 'resolved', 'regressed')
    UNION ALL
    SELECT 'audit ' || subject_kind || ' ' || action FROM {{schema}}.headrace_audit
    WHERE action NOT IN ('redrive', 'discard', 'restore', 'edit', 'cancel', 'resolve', 'apply', 'pause', 'resume', 'refuse', 'begin', 'end',
            'mute', 'unmute', 'note', 'rehearse', 'rehearse-fails', 'reveal', 'download', 'erase', 'send', 'fire', 'export', 'import', 'move', 'unsubscribe', 'local', 'new-id', 'new', 'ongoing', 'escalating', 'resolved', 'regressed')
        OR subject_kind NOT IN ('letter', 'consumer', 'group', 'redrive', 'message', 'request', 'system', 'suspect', 'outbox', 'schedule', 'database')
    UNION ALL
    SELECT 'step ' || state || ' ' || via FROM {{schema}}.headrace_steps
    WHERE state NOT IN ('pending', 'done', 'failed', 'parked', 'skipped', 'awaiting', 'expired')
        OR via NOT IN ('', 'call', 'exists', 'probe', 'memo', 'signal', 'person')
    UNION ALL
    SELECT 'redrive ' || kind || ' ' || state FROM {{schema}}.headrace_redrives
    WHERE kind NOT IN ('redrive', 'discard') OR state NOT IN ('preparing', 'planned', 'running', 'paused', 'done', 'cancelled')
    UNION ALL
    SELECT 'letter of a redrive ' || state FROM {{schema}}.headrace_redrive_letters
    WHERE state NOT IN ('queued', 'sent', 'succeeded', 'failed', 'unknown', 'skipped')
) AS w
