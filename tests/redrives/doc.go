// Package redrives kills real processes while they do a redrive.
//
// Two processes run a consumer, and with it the job. One of them is killed at random times and
// started again; every tenth letter fails again. In the end each letter was sent once, each message
// was applied once, and the list of the redrive says what became of each letter.
//
//	go test ./tests/redrives                                       # few kills
//	go test ./tests/redrives -redrives.kills=200 -timeout 30m      # 200 on each database
//
// # Rules
//
// After a kill the job pauses by itself, as it does when a process ends: the test resumes it. The
// seed is printed, and chooses whom to kill and when.
package redrives
