SELECT key, status FROM headrace_backlog
