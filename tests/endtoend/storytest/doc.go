// Package storytest tells the story over a broker as a user does: the program is built,
// run as a process and killed in the middle, and its figures are compared with what they
// must be.
//
//	func TestStory(t *testing.T) { storytest.Run(t, broker, topics) }
//
// The broker is a real one, at the address that its variable names.
package storytest
