-- What became of letters of a job. Those that become sent are sent now.
UPDATE {{schema}}.headrace_redrive_letters AS e
SET state = c.value ->> 1, why = c.value ->> 2, key = c.value ->> 3, order_key = c.value ->> 4, next_letter = c.value ->> 5,
    at = CASE WHEN c.value ->> 1 = 'sent' THEN {{now}} ELSE e.at END
FROM json_each($2) AS c
WHERE e.redrive_id = $1 AND e.letter_id = c.value ->> 0
