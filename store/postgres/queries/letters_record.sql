-- What a person did to letters, and why.
INSERT INTO {{schema}}.headrace_audit (letter_id, action, by_whom, reason, new_key)
SELECT a.letter_id, a.action, a.by_whom, a.reason, a.new_key
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
    WITH ORDINALITY AS a (letter_id, action, by_whom, reason, new_key, place)
ORDER BY a.place
