-- Every benchmark starts on empty tables.
TRUNCATE bench_inbox, bench_invoices, bench_steps, headrace_steps,
    headrace_inbox, headrace_attempts, headrace_backlog, headrace_outbox, headrace_outbox_held,
    headrace_redrives, headrace_redrive_letters, headrace_instances, headrace_requests,
    headrace_dead_letters, headrace_letter_changes, headrace_groups, headrace_group_hours, headrace_audit, headrace_prunes,
    watermill_invoices_created, watermill_forwarder_topic, watermill_offsets_forwarder_topic
