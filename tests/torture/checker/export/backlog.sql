SELECT key, line FROM headrace_backlog
