// Package shopify is what the examples and tests know of a shop: its paid orders as webhooks
// of Shopify, and the invoices that they ask for. There is nothing of headrace in it.
//
// # Nouns
//
// An [Order] is the body of a webhook. An [Invoice] is what a paid one becomes; [InvoiceOf]
// says why it does not.
//
// # Rules
//
// Money is exact: a decimal text becomes a number of the currency's smallest units. Errors
// show nothing of an order, because they end up in logs and group dead letters.
package shopify
