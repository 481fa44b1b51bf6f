-- How many open letters these fields choose: a scrape asks, so it is one statement.
SELECT count(*)
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.state = 'open'
    AND ($1 = '' OR l.consumer = $1)
    AND ($2 = '' OR l.handler = $2)
    AND ($3 = '' OR l.class = $3)
    AND ($4 = '' OR l.error_fingerprint = $4)
