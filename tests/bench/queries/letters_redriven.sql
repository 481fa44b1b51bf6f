-- What a redrive left: letters, waiting messages, rows of the backlog, audit rows.
SELECT (SELECT count(*) FROM headrace_dead_letters WHERE state = 'redriven'),
    (SELECT count(*) FROM headrace_inbox WHERE state = 'waiting'),
    (SELECT count(DISTINCT letter_id) FROM headrace_backlog),
    (SELECT count(*) FROM headrace_audit)
