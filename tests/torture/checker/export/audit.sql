SELECT CAST(subject AS bigint), action FROM headrace_audit WHERE subject_kind = 'letter'
