-- Between two attempts, but for the first two, lies at least the backoff.
SELECT a.key || ' ' || a.n FROM attempts a JOIN attempts b ON b.key = a.key AND b.n = a.n + 1
WHERE a.n >= 2 AND b.at_us - a.at_us < (SELECT value FROM run WHERE name = 'backoff_us')
AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.key = a.key AND l.state <> 'open')
