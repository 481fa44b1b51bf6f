-- How many redrives of a consumer run or are paused, and how many of their letters were not sent.
SELECT r.state, count(*), sum(r.count - r.sent - r.skipped)
FROM {{schema}}.headrace_redrives AS r
WHERE r.consumer = $1 AND r.state IN ('running', 'paused')
GROUP BY r.state
