// Package redact hides parts of payloads and headers from people who look at them. It is for eyes: what is stored, sent
// or compared stays as it is. (consumer.Config.Redact is another thing: it changes the texts of errors before they are
// stored.)
//
// # Nouns
//
// [Rules] hide what has a telling name (a member of a JSON object, a form's field, a header), and what looks like
// a secret wherever it is: a JWT, the number of a payment card, the id of an AWS key, user and password in
// a URL. [Mark] stands where something was hidden.
//
// # Rules
//
// The built-in rules always hold; a file adds to them:
//
//	# names of members, from the top; a leading *. is any depth. Arrays have no name.
//	path   customer.name
//	path   *.iban
//	# names of headers
//	header x-customer-*
//	# regular expressions (RE2) of values
//	value  \bDE\d{20}\b
//
// In names, * stands for any characters; case, hyphens and underscores do not count. Nothing here fails: JSON that is
// valid stays valid, with the rest as it was, byte for byte, and text that is broken JSON is searched all the same. The
// time is linear in the size. Members that are null, and empty strings, stay: that a value is missing is no
// secret, and may be the fault.
//
// # Caveats
//
// Redact before you cut: half a secret has another shape. The members of XML and of binary formats have no names here;
// only the shapes of values are looked for. So this keeps secrets from a screen, and is no proof that a text has none.
package redact
