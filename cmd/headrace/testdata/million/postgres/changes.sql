-- 10,000 letters that were opened and closed, and are not added up.
INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
SELECT 'billing', 'h' || n % 8, lpad(to_hex((n % 400 + 1) * 22345678901234567), 16, '0'), 'exhausted', 'v1.8', 1, 1, 0, n, n, now() FROM generate_series(1, 10000::bigint) AS n
