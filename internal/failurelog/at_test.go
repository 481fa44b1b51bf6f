package failurelog

import "testing"

func TestAt(t *testing.T) {
	t.Parallel()
	const caught = "goroutine 9 [running]:\nruntime/debug.Stack()\n\t/go/debug/stack.go:26 +0x5e\n" +
		"github.com/headrace/headrace/internal/attempt.Catch.func1()\n\t/h/attempt.go:30 +0x7d\npanic({0x1?, 0x2?})\n\t/go/runtime/panic.go:783 +0x132\n"
	const ours = "github.com/headrace/headrace.(*Tx).Publish(0x1)\n\t/h/tx.go:12 +0x1\n"
	const theirs = "shop.example/billing.(*Desk).bill.func1({0x1, 0x2})\n\t/home/ann/billing.go:42 +0x1d\n"
	const end = "github.com/headrace/headrace/internal/execute.(*Call).run(0x3)\n\t/h/call.go:1 +0x1\ncreated by main.main in goroutine 1\n\t/home/ann/main.go:7 +0x2\n"
	const want = "shop.example/billing.(*Desk).bill.func1 (billing.go:42)"
	for stack, want := range map[string]string{
		caught + theirs + end: want,
		caught + "runtime.mapassign({0x1})\n\t/go/runtime/map.go:1 +0x1\n" + theirs + end: want,
		caught + ours + theirs + end:                            want,
		caught + ours + end:                                     "github.com/headrace/headrace.(*Tx).Publish (tx.go:12)",
		caught + "main.bill(...)\n\tC:\\ann\\main.go:3\n" + end: "main.bill (main.go:3)",
		caught + "panic({0x1?, 0x2?})\n\t/go/runtime/panic.go:783 +0x132\n" + theirs + end: want,
		"": "", caught: "", "panic(": "", "\npanic(\n(\n(\n(\n": "", "goroutine 9 [running]:\n" + theirs + end: "",
	} {
		if got := at(stack); got != want {
			t.Errorf("%q, want %q, of\n%s", got, want, stack)
		}
	}
}
