-- Open letters of a filter change hands, each at most once. Who discards letters does not need
-- what their messages say.
UPDATE {{schema}}.headrace_dead_letters
SET state = $18, changed_at = {{now}}
WHERE id IN (
    SELECT l.id
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND {{letters_chosen}}
        AND {{letters_hold}}
        AND (json_array_length($2) = 0 OR l.id IN (SELECT r.value FROM json_each($2) AS r))
        AND l.id > $16
    ORDER BY l.id
    LIMIT $17
)
RETURNING id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint,
    message_id, topic, CASE WHEN state <> 'discarded' THEN payload END, CASE WHEN state <> 'discarded' THEN metadata END,
    coordinates, trace_parent, trace_state, error, error_fingerprint,
    chain, CASE WHEN state <> 'discarded' THEN stack ELSE '' END, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment,
    created_at, changed_at, reply_topic, deliveries, rev,
    (SELECT e.payload FROM {{schema}}.headrace_letter_edits AS e WHERE e.letter_id = headrace_dead_letters.id AND e.rev = headrace_dead_letters.rev),
    (SELECT e.metadata FROM {{schema}}.headrace_letter_edits AS e WHERE e.letter_id = headrace_dead_letters.id AND e.rev = headrace_dead_letters.rev)
