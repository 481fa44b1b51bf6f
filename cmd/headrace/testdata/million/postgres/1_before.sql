-- As before a restore of data: the triggers are off.
ALTER TABLE headrace_dead_letters DISABLE TRIGGER USER
