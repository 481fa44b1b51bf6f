-- What headrace left: as count_headrace.
SELECT (SELECT count(*) FROM headrace_inbox WHERE state = 'done'), count(*), count(DISTINCT order_id),
    (SELECT count(DISTINCT CAST(payload AS TEXT)->>'order_id') FROM headrace_outbox)
FROM bench_invoices
