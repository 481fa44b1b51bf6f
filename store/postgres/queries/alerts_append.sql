-- Alerts are appended, in the order given. Nothing is counted here: counters in the
-- transactions of the work would make them wait for each other.
INSERT INTO {{schema}}.headrace_alerts (consumer, grp, kind, handler, topic, class, error_fingerprint, letter_id)
SELECT u.consumer, u.grp, u.kind, u.handler, u.topic, u.class, u.error_fingerprint, u.letter_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
    WITH ORDINALITY AS u (consumer, grp, kind, handler, topic, class, error_fingerprint, letter_id, n)
ORDER BY u.n
