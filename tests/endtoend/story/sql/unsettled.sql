-- What is not settled yet: in flight here and in other runs, waiting in the backlog, not published.
SELECT (SELECT count(*) FROM orders_in_flight WHERE run = $1),
       (SELECT count(*) FROM orders_in_flight WHERE run <> $1),
       (SELECT count(*) FROM headrace_backlog WHERE consumer = $2),
       (SELECT count(*) FROM headrace_outbox) + (SELECT count(*) FROM headrace_outbox_held)
