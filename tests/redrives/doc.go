// Package redrives kills real processes while they do a redrive.
//
// Two processes run a consumer, and with it the job. One of them is killed at random times and
// started again; every tenth letter fails again. In the end each letter was sent once, each message
// was applied once, and the list of the redrive says what became of each letter.
//
//	go test -short ./tests/redrives                      # 5 kills on each database, as in make test
//	make long PKG=./tests/redrives                       # 200, in six minutes
//	go test ./tests/redrives -redrives.kills=20          # as many as are wanted
//
// In a second test both processes are killed while they edit letters and take discards back: what was asked for is done
// whole and once, or not at all.
//
// # Rules
//
// The job pauses by itself when a process is missed and a letter from before its end is still under
// way, which may have ended it: the test resumes it. The seed is printed, and chooses whom to kill and
// when.
package redrives
