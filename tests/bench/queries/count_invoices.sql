-- Effects so far.
SELECT count(*) FROM bench_invoices
