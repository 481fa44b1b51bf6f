-- What COMMIT would check, now: the constraints are deferred as before when it ends well.
SAVEPOINT headrace_check; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK TO SAVEPOINT headrace_check; RELEASE SAVEPOINT headrace_check
