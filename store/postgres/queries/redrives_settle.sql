-- What became of letters of jobs. Those that become sent are sent now.
UPDATE {{schema}}.headrace_redrive_letters AS e
SET state = c.state, why = c.why, key = c.key, order_key = c.order_key, next_letter = c.next_letter,
    at = CASE WHEN c.state = 'sent' THEN {{now}} ELSE e.at END
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    AS c (redrive_id, letter_id, state, why, key, order_key, next_letter)
WHERE e.redrive_id = c.redrive_id AND e.letter_id = c.letter_id
