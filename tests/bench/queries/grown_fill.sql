-- Messages that were handled before, with numbers from $1 up to $2: those below $3 so
-- long ago that retention lets them go. Their keys are those of no other message.
INSERT INTO headrace_inbox (scope, key, fingerprint, changed_at)
SELECT 'billing/orders_paid', r.print::uuid::text, r.print,
    now() - CASE WHEN r.n < $3 THEN interval '90 days' ELSE interval '0' END
FROM (SELECT g.n, md5(g.n::text) AS print FROM generate_series($1::bigint, $2::bigint - 1) AS g (n)) AS r
