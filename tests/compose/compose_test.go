package compose_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
)

const (
	root = "../.."
	file = root + "/docker-compose.yml"
)

// ports are the servers and the ports that their clients expect.
var ports = map[string]string{"postgres": "5432", "postgres18": "5433", "kafka": "9092", "rabbitmq": "5672", "sqs": "9324", "nats": "4222", "redis": "6379", "alertmanager": "9093"}

func load(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func variable(name string) string { return "HEADRACE_" + strings.ToUpper(name) + "_PORT" }

// Every server can be waited for (docker compose up --wait) and is pinned to a version.
func TestServersCanBeWaitedFor(t *testing.T) {
	project := load(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ports)), slices.Sorted(slices.Values(project.ServiceNames()))); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	for name, s := range project.Services {
		h := s.HealthCheck
		if h == nil || len(h.Test) < 2 || h.Interval == nil || h.Timeout == nil || h.Retries == nil {
			t.Errorf("%s has no whole health check: %+v", name, h)
		}
		if image, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" {
			t.Errorf("%s: image %s is not of a version", name, image)
		}
	}
}

// Each port is bound to this machine only, and moves with its variable; so does every
// address that the server tells its clients.
func TestPortsAreOverridable(t *testing.T) {
	var env []string
	for name, port := range ports {
		env = append(env, variable(name)+"=1"+port)
	}
	for prefix, project := range map[string]*types.Project{"": load(t), "1": load(t, env...)} {
		for name, s := range project.Services {
			want := types.ServicePortConfig{Mode: "ingress", HostIP: "127.0.0.1", Published: prefix + ports[name], Protocol: "tcp"}
			if _, err := fmt.Sscan(ports[name], &want.Target); err != nil {
				t.Fatal(err)
			}
			if name == "postgres18" {
				want.Target = 5432 // inside of its container it has the port of every PostgreSQL
			}
			wanted := []types.ServicePortConfig{want}
			if name == "rabbitmq" { // the management API, which moves with a variable of its own
				wanted = append(wanted, types.ServicePortConfig{
					Mode: "ingress", HostIP: "127.0.0.1", Published: "15672", Target: 15672, Protocol: "tcp",
				})
			}
			if diff := cmp.Diff(wanted, s.Ports); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		for name, key := range map[string]string{"kafka": "KAFKA_ADVERTISED_LISTENERS", "sqs": "JAVA_TOOL_OPTIONS"} {
			told := project.Services[name].Environment[key]
			if told == nil || !slices.ContainsFunc(strings.FieldsFunc(*told, func(r rune) bool { return strings.ContainsRune(" ,=:", r) }),
				func(word string) bool { return word == prefix+ports[name] }) {
				t.Errorf("%s does not tell its clients port %s: %s", name, prefix+ports[name], *told)
			}
		}
	}
}

// scripts/services knows each of them by the same name.
func TestServicesKnowsThem(t *testing.T) {
	for name := range ports {
		script, err := os.ReadFile(filepath.Join(root, "scripts/services.d", name+".sh"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(script), "export HEADRACE_TEST_"+strings.ToUpper(name)+"=") {
			t.Errorf("scripts/services.d/%s.sh names no variable", name)
		}
	}
}
