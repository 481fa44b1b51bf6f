// Tickets is a program that has a language model read mails, which answers differently each
// time it is asked, while its process is killed again and again:
//
//	go run ./examples/tickets
//
// Customers write mails, many of them the same text. For each the handler asks the model what
// it is about and what to reply, and opens a ticket. If it is about a refund, it waits until a
// person approves, and has the bank pay. Mails with one text share one answer (a memo), and
// each mail keeps its answer over all its runs, so that a run after a kill does not take
// another way than the one before. handler.go is what a program of yours would be.
//
// Everything else here sets the scene: outside.go has stand-ins for the model, the desk with
// the tickets and the bank, which fail and lose answers and keep their own log, scene.go the
// kills, and person.go the person who approves refunds, and looks at the bank's statement
// when it is not known whether one was paid. The figures at the end are counted in the log of
// the stand-ins. The program exits with 1 if a ticket or a refund was made twice or is lost,
// or if a text has two answers.
//
//	go run ./examples/tickets -n 300 -kills 20
//	go run ./examples/tickets -dsn postgres://localhost/shop
package main
