-- How many open letters these fields choose: a scrape asks, so it is one statement. Those of one
-- class are a part of the index, which SQLite does not find in ($3 = '' OR l.class = $3). It does
-- not begin with what $3 alone excludes.
SELECT (
    SELECT count(*)
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.class = $3
        AND ($1 = '' OR l.consumer = $1)
        AND ($2 = '' OR l.handler = $2)
        AND ($4 = '' OR l.error_fingerprint = $4)
) + (
    SELECT count(*)
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE $3 = '' AND l.state = 'open'
        AND ($1 = '' OR l.consumer = $1)
        AND ($2 = '' OR l.handler = $2)
        AND ($4 = '' OR l.error_fingerprint = $4)
)
