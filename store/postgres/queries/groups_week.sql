-- The hours of groups in the last 7 days.
SELECT h.consumer, h.handler, h.error_fingerprint, h.hour, h.build, h.n, h.first_at
FROM unnest($1::text[], $2::text[], $3::text[]) AS i (consumer, handler, error_fingerprint)
JOIN {{schema}}.headrace_group_hours AS h ON h.consumer = i.consumer AND h.handler = i.handler AND h.error_fingerprint = i.error_fingerprint
WHERE h.hour > (SELECT {{now}}) - interval '7 days'
