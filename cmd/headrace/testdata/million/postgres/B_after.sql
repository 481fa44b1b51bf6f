-- As after a restore of data.
ALTER TABLE headrace_dead_letters ENABLE TRIGGER USER
