-- How many messages the queue of a group has, up to 100,000 of them.
SELECT count(*) FROM (SELECT FROM {{schema}}.headrace_queue WHERE topic = $1 AND consumer_group = $2 LIMIT 100000) AS waiting
