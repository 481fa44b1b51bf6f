-- How many open letters these fields choose: a scrape asks, so it is one statement.
SELECT count(*)
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.state = 'open'
    AND ($1::text = '' OR l.consumer = $1::text)
    AND ($2::text = '' OR l.handler = $2::text)
    AND ($3::text = '' OR l.class = $3::text)
    AND ($4::text = '' OR l.error_fingerprint = $4::text)
