-- No message has more attempts than the policy allows for each life; lost leases
-- give it up where they are as many as that, and at least three.
SELECT a.key FROM attempts a GROUP BY a.key
HAVING sum(a.class <> 'lost') > (SELECT value FROM run WHERE name = 'max_attempts') * (1 + (SELECT count(*) FROM letters l WHERE l.key = a.key AND l.state = 'redriven'))
OR sum(a.class = 'lost') > max(3, (SELECT value FROM run WHERE name = 'max_attempts')) * (1 + (SELECT count(*) FROM letters l WHERE l.key = a.key AND l.state = 'redriven'))
