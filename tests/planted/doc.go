// Command planted shows that the checks of this tree can turn red. It plants one bug
// after another, runs the check that is there for it, and fails unless each of them is
// found.
//
//	make planted                      # all, with a PostgreSQL of their own
//	go run ./tests/planted -list      # what there is
//	go run ./tests/planted -only 05-  # those with 05- in their name
//
// Without make, HEADRACE_TEST_POSTGRES names the server, as for go test.
//
// # Nouns
//
// A bug is a file in tests/planted/bugs: a header and a unified diff. The header says
// which rule the bug breaks and what it does; Check is the command that must turn red,
// Red the test that fails then, and Says a text in its output, so that neither a
// server that is missing nor a diff that does not compile counts as found.
//
// # Rules
//
// Nothing is planted in the tree itself: its tracked files, as they are now, are copied
// to a scratch directory, which is removed in the end, also after Ctrl-C. Every check has
// to pass there before anything is planted. A diff that cannot be applied any more is a
// failure: plant the bug anew in the code as it is, or say why it cannot be any more.
//
// # Caveats
//
// The go command's cache makes the runs short; the first one on a machine compiles
// everything once. A check that was red is not run again: flaky checks show in the tests.
package main
