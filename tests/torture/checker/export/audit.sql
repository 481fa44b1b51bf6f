SELECT letter_id, action FROM headrace_audit
