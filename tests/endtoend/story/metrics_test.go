package story

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// scrape returns the sums of what /metrics shows, by the name of the metric and, after a slash, by
// outcome, line or topic.
func scrape(t *testing.T, url string) map[string]int64 {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	sums := make(map[string]int64)
	series := regexp.MustCompile(`^(\w+)\{(.*)\} (\S+)$`)
	label := regexp.MustCompile(`headrace_(?:outcome|line)="(\w+)"|messaging_destination_name="([\w.]+)"`)
	for line := range strings.SplitSeq(string(text), "\n") {
		m := series.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sums[m[1]] += int64(v)
		if l := label.FindStringSubmatch(m[2]); l != nil {
			sums[m[1]+"/"+l[1]+l[2]] += int64(v)
		}
	}
	return sums
}

// INVARIANTS 22: what is counted on the way is what the tables say at the end.
func TestMetricsAreTheFigures(t *testing.T) {
	cmd := child(t, "-metrics", "127.0.0.1:0", "-hold", "-json", "-n", "300")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var url string
	var sums map[string]int64
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, after, found := strings.Cut(lines.Text(), "metrics at "); found {
			url = after
		}
		if strings.Contains(lines.Text(), "everything is settled") {
			sums = scrape(t, url)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("it ended with %v; %s", err, stdout.String())
	}
	r := result{stdout: stdout.String()}.holds(t)
	processed, drained := "headrace_messages_processed_total", "headrace_backlog_processed_total"
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"delivered", sums["messaging_client_consumed_messages_total"], r.Delivered},
		{"deliveries with an outcome", sums[processed], r.Delivered},
		{"applied", sums[processed+"/applied"] + sums[drained+"/applied"], r.Applied},
		{"dead letters", sums["headrace_dead_letters_recorded_total"], r.Dead.Letters},
		{"open dead letters", sums["headrace_dead_letters_open"], r.Dead.Letters},
		{"published", sums["messaging_client_sent_messages_total/"+confirmations], r.Published},
		{"in flight", sums["headrace_messages_in_flight"], 0},
		{"in the outbox", sums["headrace_outbox_messages"], 0},
		{"in the backlog", sums["headrace_backlog_messages"], r.Waiting},
	} {
		if c.got != c.want {
			t.Errorf("%s: /metrics says %d, the tables %d", c.what, c.got, c.want)
		}
	}
}

// With -hold a process goes on that redrives what the pages ask for, and says how to open them.
func TestHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.db")
	cmd := child(t, "-db", file, "-hold", "-json", "-n", "40")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), "another terminal") {
			said = lines.Text()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said, "HEADRACE_DSN='sqlite:"+file+"' go run ./cmd/headrace ui") {
		t.Errorf("%s, %v", said, err)
	}
}

func TestMetricsAddress(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-metrics", "9464"}, exitUsage, `-metrics "9464" is no address; give host:port`},
		{[]string{"-metrics", "127.0.0.1:99999"}, exitUsage, "the port is not in 0..65535"},
		{[]string{"-metrics", ""}, exitUsage, "-metrics is empty"},
		{[]string{"-metrics", taken.Addr().String()}, exitFailed, "address already in use"},
	} {
		r := runChild(t, nil, append(c.args, "-n", "1")...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
			t.Errorf("%v: exit %d, %s%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}
