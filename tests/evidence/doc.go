// Command evidence keeps the table of docs/reliability.md, which says for each claim
// which tests show it.
//
//	go run ./tests/evidence                   # write the table
//	go run ./tests/evidence -check            # fail unless the table is current
//	go run ./tests/evidence -run once,ack     # run the tests of these claims
//
// # Nouns
//
// A claim is a row of the page that a person wrote: a sentence, and the command that shows
// it. The word after -run is the claim's name. A directive is a line in front of a test:
//
//	//evidence:once ack
//	func TestX(t *testing.T) {
//
// It names the claims that the test shows. In front of a function of a suite (storetest,
// brokertest) it stands for the test whose title the suite's table gives.
//
// # Rules
//
// The tests are the source of the table. A claim without a test, a directive with a claim
// that the page does not have, and a directive in front of something that is no test are
// errors. So a test that is renamed or removed cannot stay in the page.
//
// The last column has the planted bugs (package tests/planted) whose check is one of the
// tests: each of those tests was seen to fail when the code that it guards was broken.
package main
