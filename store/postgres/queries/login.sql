-- Who has logged in, whatever role it has taken since.
SELECT session_user
