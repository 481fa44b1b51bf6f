-- Letters are added to the hours of groups; times are in µs since 1970.
INSERT INTO {{schema}}.headrace_group_hours AS h (consumer, handler, error_fingerprint, hour, build, n, first_at)
SELECT i.value ->> 0, i.value ->> 1, i.value ->> 2, i.value ->> 3, i.value ->> 4, i.value ->> 5, i.value ->> 6
FROM json_each($1) AS i
WHERE true
ON CONFLICT (consumer, handler, error_fingerprint, hour, build) DO UPDATE SET n = h.n + excluded.n, first_at = min(h.first_at, excluded.first_at)
