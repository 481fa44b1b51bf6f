// Package browser walks through the pages in Chromium, as a person does at night:
//
//	make browser
//
// # Nouns
//
// A night is a database with a consumer whose build fails, and the pages of package ui. A tab is a browser of its own, with
// its own cookies.
//
// # Rules
//
// A tab fails its test if a page breaks the content security policy, throws an error, or asks something in a
// dialog. A click is counted. What is waited for is in the page or in the tables; nothing waits for time alone.
//
// # Caveats
//
// It is a module of its own, so that headrace has none of its dependencies. Chromium and axe come from scripts/services.
package browser
