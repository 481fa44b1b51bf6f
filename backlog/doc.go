package backlog
