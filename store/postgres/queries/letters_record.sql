-- What a person did to letters, and why.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason, redrive_id, detail)
SELECT 'letter', a.letter_id::text, a.action, a.by_whom, a.reason, a.redrive_id, a.detail
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    WITH ORDINALITY AS a (letter_id, action, by_whom, reason, redrive_id, detail, place)
ORDER BY a.place
