-- What a benchmark leaves beside the inbox.
TRUNCATE bench_invoices, headrace_outbox, headrace_outbox_held, headrace_prunes
