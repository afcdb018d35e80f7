package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

const root = "../.."

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(b)
}

// TestReadmeRequest sends the request of the README to what its first embedding mounts.
func TestReadmeRequest(t *testing.T) {
	body := regexp.MustCompile(`/docs-api/triggers .*\\\n  -d '([^']*)'`).FindStringSubmatch(readme(t))
	require.NotNil(t, body)
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	auth := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	h, err := httpadapter.NewTrigger(service, auth, &httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	for _, test := range []struct {
		method, body string
		want         int
	}{{"POST", body[1], http.StatusAccepted}, {"GET", "", http.StatusOK}} {
		r := httptest.NewRequest(test.method, "/triggers", strings.NewReader(test.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, test.want, w.Code, w.Body)
	}
}

// TestReadmeEmbeddingCompiles builds the embeddings of the README and of docs/models.md
// as they stand there.
func TestReadmeEmbeddingCompiles(t *testing.T) {
	code := regexp.MustCompile("(?s)```go\n(.*?)```")
	models, err := os.ReadFile("../../docs/models.md")
	require.NoError(t, err)
	blocks := append(code.FindAllStringSubmatch(readme(t), -1), code.FindAllStringSubmatch(string(models), -1)...)
	require.Len(t, blocks, 6+1)
	program := `package main

import (
	"context"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// What the text takes for given.
var (
	ctx       context.Context
	mux       *http.ServeMux
	group     *errgroup.Group
	check     func(error)
	auth      httpadapter.Authenticator
	roles     = access.DefaultCatalogue()
	signedIn  func(*http.Request) (who struct{ Tenant, ID, Role string }, ok bool)
	processor trigger.Processor
	db        *memory.DB
	grant     func(context.Context, authmgmt.Acceptance) (mortise.Secret, error)
	schema    vault.Schema

	service     *trigger.Service
	credentials *authmgmt.Service
	by          authmgmt.Caller
	values      *vault.Service
	sounds      *audiosearch.Service

	// Of docs/models.md.
	wavs, others sound.Media
	videos       sound.Files
)

func main() {}
`
	for i, block := range blocks {
		used := "auth"
		if strings.HasPrefix(block[1], "leave := ") {
			used = "leave"
		}
		if i == len(blocks)-1 {
			used = "sounds"
		}
		program += fmt.Sprintf("\nfunc block%d() {\n%s\n_ = %s\n}\n", i, block[1], used)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	// An overlay puts the file into the module without touching the tree.
	target, err := filepath.Abs("readmesnippet/main.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {target: source}})
	require.NoError(t, err)
	overlayFile := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", overlayFile, "-o", os.DevNull, "./readmesnippet").CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestReadmeNamesRealThings: the tests that the guarantees name, and the files that the
// text links to, are there.
func TestReadmeNamesRealThings(t *testing.T) {
	text := readme(t)
	var sources strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "triggertest") && !strings.Contains(path, "authmgmttest") && !strings.Contains(path, "vaulttest") && !strings.Contains(path, "audiosearchtest") {
			return err
		}
		b, err := os.ReadFile(path)
		sources.Write(b)
		return err
	}))
	require.NotContains(t, text, "@@", "a figure is missing")
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		require.Contains(t, sources.String(), "func "+name[1]+"(", "the README names a test that is not there")
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
		_, err := os.Stat(filepath.Join(root, link[1]))
		require.NoError(t, err, "the README links to a file that is not there")
	}
}

// TestTodoScript runs the documentation job of the README twice on one event.
func TestTodoScript(t *testing.T) {
	sh := tool(t, "sh")
	script, err := filepath.Abs(filepath.Join(root, "examples/server/todo.sh"))
	require.NoError(t, err)
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	require.Contains(t, readme(t), "```sh\n"+string(text)+"```", "the README shows another script")
	todo := filepath.Join(t.TempDir(), "TODO.md")
	run := func(event string) {
		cmd := exec.Command(sh, script, todo)
		cmd.Stdin = strings.NewReader(event)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	first := `{"trigger_event_id":"01","status":"processing","source":"api","instructions":"Say \"hi\" & go","context":{"source":"x","instructions":"y"},"attempts":1}`
	run(first)
	run(first)
	run(`{"trigger_event_id":"02","status":"processing","source":"api","instructions":"$(touch x); 50% of \\n","context":null,"attempts":1}`)
	got, err := os.ReadFile(todo)
	require.NoError(t, err)
	require.Equal(t, "- [ ] Say \\\"hi\\\" & go (`01`)\n- [ ] $(touch x); 50% of \\\\n (`02`)\n", string(got))
}
