-- What became of letters of jobs. Those that become sent are sent now. Each letter is found by its
-- redrive and its id: with the redrive as an argument, SQLite would read all of its letters.
UPDATE {{schema}}.headrace_redrive_letters AS e
SET state = c.value ->> 2, why = c.value ->> 3, key = c.value ->> 4, order_key = c.value ->> 5, next_letter = c.value ->> 6,
    at = CASE WHEN c.value ->> 2 = 'sent' THEN {{now}} ELSE e.at END
FROM json_each($1) AS c
WHERE e.redrive_id = c.value ->> 0 AND e.letter_id = c.value ->> 1
