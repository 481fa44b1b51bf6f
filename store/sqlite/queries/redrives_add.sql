-- The letters of a filter in a window go onto the list of a redrive ($19), if they are open. A
-- letter's order counts only where it is strict.
INSERT INTO {{schema}}.headrace_redrive_letters (redrive_id, letter_id, rev, state, scope, key, order_key, at)
SELECT $19, l.id, l.rev, 'queued', l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END, {{now}}
FROM (
    {{letters_in_window}}
) AS l
WHERE {{letters_chosen}}
    AND {{letters_hold}} AND l.state = 'open'
