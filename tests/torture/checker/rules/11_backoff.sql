-- Between two attempts, but for the first two, lies at least the backoff. (A lost lease is
-- written down when it is taken over, by whom the work goes on at once: it has waited.)
SELECT a.key || ' ' || a.n FROM attempts a JOIN attempts b ON b.key = a.key AND b.n = a.n + 1
WHERE a.n >= 2 AND a.class <> 'lost' AND b.at_us - a.at_us < (SELECT value FROM run WHERE name = 'backoff_us')
AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.key = a.key AND l.state <> 'open')
