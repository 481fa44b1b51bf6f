-- No message has more attempts than the policy allows for each life.
SELECT a.key FROM attempts a GROUP BY a.key
HAVING count(*) > (SELECT value FROM run WHERE name = 'max_attempts') * (1 + (SELECT count(*) FROM letters l WHERE l.key = a.key AND l.state = 'redriven'))
