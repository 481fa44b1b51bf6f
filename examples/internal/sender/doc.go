// Package sender sends webhooks as Shopify does, for examples that play a shop.
//
// # Nouns
//
// [Post] is one request.
//
// # Rules
//
// It is signed with the secret that both sides know.
//
// # Caveats
//
// It repeats nothing: the example decides about that.
package sender
