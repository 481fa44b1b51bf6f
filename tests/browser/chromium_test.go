package browser

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// waitTimeout bounds one step of a person.
const waitTimeout = 40 * time.Second

// chromium is the browser of all tests: its start takes a second.
var chromium struct {
	sync.Once
	ctx context.Context
	err error
}

func TestMain(m *testing.M) {
	ctx, stop := context.WithCancel(context.Background())
	chromium.ctx = ctx
	status := m.Run()
	if c := chromedp.FromContext(chromium.ctx); c != nil && c.Browser != nil {
		_ = chromedp.Cancel(chromium.ctx) // waits for the process
	}
	stop()
	os.Exit(status)
}

// need returns the value of a variable. Without it the test is left out, or fails with CI=true.
func need(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	switch {
	case value != "":
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not set: run make browser", variable)
	default:
		t.Skipf("%s is not set: run make browser", variable)
	}
	return value
}

func start(program string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, _ := chromedp.NewExecAllocator(chromium.ctx, options...)
	ctx, _ = chromedp.NewContext(ctx)
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
}

// tab is a browser of one person.
type tab struct {
	*testing.T
	ctx    context.Context
	clicks int

	mu     sync.Mutex
	faults []string
}

// open opens a tab, which begins with what prepare does.
func open(t *testing.T, prepare ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	program := need(t, "HEADRACE_TEST_CHROMIUM")
	chromium.Do(func() { start(program) })
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	ctx, closed := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	b := &tab{T: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closed()
		for _, fault := range b.seen() {
			t.Error(fault)
		}
	})
	b.do(prepare...)
	return b
}

// listen takes down what no page may do.
func (b *tab) listen(event any) {
	fault := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork && e.Entry.Level == log.EntryLevelError { // an answer with 409 is an entry, too
			fault = fmt.Sprintf("%s: %s at %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		fault = "a script failed: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			fault = fmt.Sprintf("console: %s", e.Args[0].Value)
		}
	case *page.EventJavascriptDialogOpening:
		fault = "a dialog: " + e.Message
	}
	if fault != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

// seen returns the faults, and forgets them.
func (b *tab) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// do does what a person does, and fails the test where it cannot be done.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.Fatalf("%v\n%s", err, b.text())
		}
	}
}

// goTo opens an address and returns the status of the answer.
func (b *tab) goTo(url string) int64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.NavigateResponse(url))
	if err != nil {
		b.Fatalf("%s: %v", url, err)
	}
	return answer.Status
}

// click clicks, and waits for the page that follows. It returns the status of its answer.
func (b *tab) click(selector string) int64 {
	b.Helper()
	b.clicks++
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
	if err != nil {
		b.Fatalf("click on %s: %v\n%s", selector, err, b.text())
	}
	return answer.Status
}

// wait waits until the page has an element.
func (b *tab) wait(selector string) {
	b.Helper()
	b.do(chromedp.WaitReady(chromedp.CSS(selector)))
}

// write types into a field.
func (b *tab) write(selector, text string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// text is what a person reads.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`))
	return text
}

// says fails unless a person can read the words.
func (b *tab) says(words string) {
	b.Helper()
	if text := b.text(); !strings.Contains(text, words) {
		b.Errorf("the page does not say %q:\n%s", words, text)
	}
}

func run[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, options...))
	if err != nil {
		b.Fatalf("%.60s: %v", script, err)
	}
	return value
}

// call is a command of the protocol, as a step.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// bearing sends a token with each request.
func bearing(token string) chromedp.Action[chromedp.Void] {
	return call(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer " + token}})
}

// noScripts switches JavaScript off, as some people do.
func noScripts() chromedp.Action[chromedp.Void] {
	return call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// theme is what the person's system prefers: light or dark.
func theme(name string) chromedp.Action[chromedp.Void] {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// axe is the script of the checker.
var axe = sync.OnceValues(func() (string, error) {
	jar, err := zip.OpenReader(os.Getenv("HEADRACE_TEST_AXE"))
	if err != nil {
		return "", err
	}
	defer func() { _ = jar.Close() }()
	f, err := jar.Open("axe.min.js")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(f)
	return string(text), err
})

// finding is a rule that a page breaks, with the first elements that do.
type finding struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// accessible checks the page against WCAG 2.2 AA in both themes.
func (b *tab) accessible(name string) {
	b.Helper()
	for _, barrier := range b.barriers() {
		b.Errorf("%s: %s", name, barrier)
	}
}

// barriers are what accessible finds.
func (b *tab) barriers() (all []string) {
	b.Helper()
	need(b.T, "HEADRACE_TEST_AXE")
	script, err := axe()
	if err != nil {
		b.Fatal(err)
	}
	run[string](b, script+"; 'axe'")
	for _, preferred := range []string{"light", "dark"} {
		b.do(theme(preferred))
		found := run[[]finding](b, `axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"]}).then(r =>
			r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 3).map(n => ({HTML: n.html, FailureSummary: n.failureSummary}))})))`, chromedp.EvalAwaitPromise)
		for _, f := range found {
			all = append(all, fmt.Sprintf("%s: %s: %s: %+v", preferred, f.ID, f.Help, f.Nodes))
		}
	}
	return all
}
