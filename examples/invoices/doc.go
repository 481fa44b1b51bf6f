// Invoices is a program whose handler calls four other systems, which fail, answer late and
// lose answers, while its process is killed again and again:
//
//	go run ./examples/invoices
//
// A shop sends paid orders by webhook. For each the handler keeps a customer and an
// invoice in an ERP, books the invoice in the accounts, pays a commission from a bank
// account and sends a mail. What each system offers against repetition is another: see
// handler.go, which is what a program of yours would be. The systems run in a process of
// their own and keep their own log; the figures at the end are counted in that log. The
// program exits with 1 if a system has done something twice, or not at all.
//
// Everything else here sets the scene: outside.go has the four systems, shop.go the shop,
// which repeats a webhook until it is answered, scene.go the kills, and statement.go the bank's
// statement, at which a person looks who decides on payouts whose outcome is unknown.
//
//	go run ./examples/invoices -n 300 -kills 50
//	go run ./examples/invoices -dsn postgres://localhost/shop
package main
