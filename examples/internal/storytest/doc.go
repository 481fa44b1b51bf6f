// Package storytest tells the story over a broker as a user does: the example is built,
// run as a process, killed in the middle, and held against what its figures must be.
//
//	func TestStory(t *testing.T) { storytest.Run(t, broker) }
//
// The broker is a real one, at the address that its variable names.
package storytest
