// Package archtest holds the rules of the source tree, each with its reason, and a test that fails when
// the tree breaks one.
//
// # Nouns
//
//   - A [Tree] is the parsed source of a module, [Load]ed from a directory or from memory.
//   - A [Set] names packages: "./inbox" is ours, "./store/..." ours and all below, "github.com/lib/pq" is of another module.
//   - A rule is an [ImportRule], a [FileRule] or a [PackageRule]. [Rules] lists them all.
//   - A [Violation] says which rule was broken, where, and why the rule exists.
//
// # The layers
//
// Domain and rules at the bottom ([Domain]), then the engines that move messages ([Engines]), then the
// runtime ([Runtime]). [Drivers] stand beside them and know the words only, [Adapters] know everything but
// drivers, and [Wiring] puts it all together. A package that stands nowhere in layers_test.go breaks a rule too:
// no rule would check it.
//
// # Caveats
//
// Imports are followed through our own packages, from non-test files, under every build tag. What a
// foreign package imports in turn is not looked at. Whether a string is SQL is a guess by its first words.
package archtest
