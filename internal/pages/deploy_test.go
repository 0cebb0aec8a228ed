package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// systemd takes the unit and has nothing to say, and finds that it exposes little.
func TestUnitIsTakenBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("this system has no systemd-analyze, which reads units")
	}
	// A program has to be there: this one.
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := page(t, "deploy/systemd/inbox-wasm.service")
	path := filepath.Join(t.TempDir(), "inbox-wasm.service")
	if err := os.WriteFile(path, []byte(strings.Replace(unit, "ExecStart=/usr/bin/inbox-wasm", "ExecStart="+program, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--no-pager", "--threshold=15", path}, // of 100
	} {
		if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || args[0] == "verify" && len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("systemd-analyze %q: %v\n%s", args, err, out)
		}
	}
}

// manifest is what the test reads of a Kubernetes object.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace           int `yaml:"terminationGracePeriodSeconds"`
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				InitContainers []container `yaml:"initContainers"`
				Containers     []container
				Volumes        []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type container struct {
	Args    []string
	EnvFrom []struct {
		SecretRef struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	Mounts         []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
}

// The manifests are YAML whose parts name each other rightly, and the configuration in them is one that the program takes.
func TestManifestsFitTogether(t *testing.T) {
	objects := map[string]manifest{}
	d := yaml.NewDecoder(strings.NewReader(page(t, "deploy/kubernetes/inbox-wasm.yaml")))
	for {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Metadata.Name != "inbox-wasm" || m.APIVersion == "" {
			t.Errorf("%s %s: %q", m.APIVersion, m.Kind, m.Metadata.Name)
		}
		objects[m.Kind] = m
	}
	for _, kind := range []string{"Secret", "ConfigMap", "Deployment", "PodDisruptionBudget"} {
		if objects[kind].Kind == "" {
			t.Fatalf("there is no %s", kind)
		}
	}
	secret := objects["Secret"].StringData
	cfg, err := config.Parse("/etc/inbox-wasm/inbox.toml", []byte(objects["ConfigMap"].Data["inbox.toml"]),
		func(name string) (string, bool) { v, ok := secret[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	deployment := objects["Deployment"].Spec
	pod := deployment.Template.Spec
	if got, want := time.Duration(pod.Grace)*time.Second, cfg.Runtime.DrainTimeout+30*time.Second; got != want {
		t.Errorf("the pod has %v to end, and the program takes up to %v", got, want)
	}
	for _, labels := range []map[string]string{deployment.Template.Metadata.Labels, objects["PodDisruptionBudget"].Spec.Selector.MatchLabels} {
		for key, value := range deployment.Selector.MatchLabels {
			if labels[key] != value {
				t.Errorf("%s is %q, not %q", key, labels[key], value)
			}
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	mounts := map[string]string{}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		for _, m := range c.Mounts {
			if mounts[m.MountPath] = m.Name; !volumes[m.Name] {
				t.Errorf("there is no volume %s", m.Name)
			}
		}
		if s := c.SecurityContext; s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%+v", c)
		}
	}
	main := pod.Containers[0]
	if !strings.HasSuffix(cfg.Runtime.ListenHTTP, fmt.Sprintf(":%d", main.Ports[0].ContainerPort)) {
		t.Errorf("it listens at %s, and the port is %d", cfg.Runtime.ListenHTTP, main.Ports[0].ContainerPort)
	}
	for path, get := range map[string]struct{ Path, Port string }{"/healthz": main.LivenessProbe.HTTPGet, "/readyz": main.ReadinessProbe.HTTPGet} {
		if get.Path != path || get.Port != main.Ports[0].Name {
			t.Errorf("%s: %+v", path, get)
		}
	}
	if main.EnvFrom[0].SecretRef.Name != "inbox-wasm" || mounts[filepath.Dir(main.Args[2])] != "config" || mounts[filepath.Dir(cfg.Handlers[0].Module)] != "modules" {
		t.Errorf("%+v, %v", main, mounts)
	}
	// The folder of a volume is everybody's, and the cache may not be: it is one below it.
	if mounts[filepath.Dir(cfg.Runtime.CacheDir)] != "cache" {
		t.Errorf("the cache is %s, and mounted are %v", cfg.Runtime.CacheDir, mounts)
	}
}

// The image's program is built with the flags of a release.
func TestImageIsBuiltLikeARelease(t *testing.T) {
	image, release := page(t, "deploy/docker/Dockerfile"), page(t, "scripts/release.sh")
	for _, flags := range []string{"-trimpath -buildvcs=false", `-ldflags "-s -w -X $command.release=$`, `-X $command.commit=$`,
		"command=github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0"} {
		for name, text := range map[string]string{"the Dockerfile": image, "scripts/release.sh": release} {
			if !strings.Contains(text, flags) {
				t.Errorf("%s has no %s", name, flags)
			}
		}
	}
	if !strings.Contains(image, "\nFROM scratch\n") || !strings.Contains(image, "ca-certificates.crt") || !strings.Contains(image, "\nUSER 65532:65532\n") {
		t.Error("the image is not from scratch, without certificates, or run as root")
	}
}
