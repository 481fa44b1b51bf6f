-- The hours of groups in the last 7 days.
SELECT h.consumer, h.handler, h.error_fingerprint, h.hour, h.build, h.n, h.first_at
FROM json_each($1) AS i
JOIN {{schema}}.headrace_group_hours AS h ON h.consumer = i.value ->> 0 AND h.handler = i.value ->> 1 AND h.error_fingerprint = i.value ->> 2
WHERE h.hour > (SELECT {{now}}) - 7 * 86400000000
