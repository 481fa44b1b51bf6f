-- 10,000 letters that were opened and closed, and are not added up.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 10000)
INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
SELECT 'billing', 'h' || (n % 8), printf('%016x', (n % 400 + 1) * 22345678901234567), 'exhausted', 'v1.8', 1, 1, 0, n, n, unixepoch() * 1000000 FROM s
