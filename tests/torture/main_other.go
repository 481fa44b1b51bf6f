//go:build !unix

package main

import "fmt"

func main() { fmt.Println("torture kills and stops processes by signals: it needs a Unix") }
