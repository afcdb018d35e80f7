package routers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	echo4 "github.com/labstack/echo/v4"
	echo5 "github.com/labstack/echo/v5"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

const hostPage = "the host's own page"

func writeHostPage(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, hostPage) }

// hosts are programs with a front page of their own at GET / and the triggers mounted.
var hosts = []struct {
	name   string
	own405 bool // the router answers a wrong method
	cleans bool // the router redirects unclean paths
	noPage bool
	make   func(prefix string, h *httpadapter.Handler) http.Handler
}{
	{name: "std", cleans: true, noPage: true, make: func(prefix string, h *httpadapter.Handler) http.Handler {
		m := http.NewServeMux()
		MountStd(m, prefix, h)
		return m
	}},
	{name: "std routes", own405: true, cleans: true, make: func(prefix string, h *httpadapter.Handler) http.Handler {
		m := http.NewServeMux()
		m.HandleFunc("GET /", writeHostPage)
		MountStdRoutes(m, prefix, h)
		return m
	}},
	{name: "chi", make: func(prefix string, h *httpadapter.Handler) http.Handler {
		r := chi.NewRouter()
		r.Get("/", writeHostPage)
		MountChi(r, prefix, h)
		return r
	}},
	{name: "gorilla", cleans: true, make: func(prefix string, h *httpadapter.Handler) http.Handler {
		r := mux.NewRouter()
		r.HandleFunc("/", writeHostPage).Methods(http.MethodGet)
		MountGorilla(r, prefix, h)
		return r
	}},
	{name: "gin", make: func(prefix string, h *httpadapter.Handler) http.Handler {
		gin.SetMode(gin.ReleaseMode)
		r := gin.New()
		r.GET("/", gin.WrapF(writeHostPage))
		MountGin(r, prefix, h)
		return r
	}},
	{name: "echo4", make: func(prefix string, h *httpadapter.Handler) http.Handler {
		e := echo4.New()
		e.GET("/", echo4.WrapHandler(http.HandlerFunc(writeHostPage)))
		MountEcho4(e, prefix, h)
		return e
	}},
	{name: "echo5", make: func(prefix string, h *httpadapter.Handler) http.Handler {
		e := echo5.New()
		e.GET("/", echo5.WrapHandler(http.HandlerFunc(writeHostPage)))
		MountEcho5(e, prefix, h)
		return e
	}},
}

func TestRouters(t *testing.T) {
	for _, host := range hosts {
		for _, prefix := range []string{"", "/internal", "/a/b"} {
			t.Run(host.name+" at "+prefix+"/", func(t *testing.T) {
				p := probe{t, host.make(prefix, newTriggers(t)), prefix}
				p.checkAnswers(host.own405)
				p.checkUnclean(host.cleans)
				if answer := p.do("GET", "/", ""); !host.noPage && answer.body != hostPage {
					t.Errorf("GET /: the host's page is gone: %d %s", answer.status, answer.body)
				}
			})
		}
	}
}

func newTriggers(t *testing.T) *httpadapter.Handler {
	t.Helper()
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := trigger.New(db.Trigger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	auth := httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if token != "good" {
			return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
		}
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	h, err := httpadapter.NewTrigger(s, auth, &httpadapter.TriggerOptions{History: true})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

type probe struct {
	t      *testing.T
	host   http.Handler
	prefix string
}

type answer struct {
	status int
	body   string
	header http.Header
}

// do sends a request for a path as it is, without the cleaning of a client.
func (p probe) do(method, path, token string) answer {
	p.t.Helper()
	r := httptest.NewRequest(method, "/", strings.NewReader(`{"instructions":"Describe it."}`))
	r.URL = &url.URL{}
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.RequestURI = path
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	p.host.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{w.Code, string(body), w.Header()}
}

func (p probe) checkAnswers(own405 bool) {
	p.t.Helper()
	created := p.do("POST", p.prefix+"/triggers", "good")
	if created.status != http.StatusAccepted {
		p.t.Fatalf("POST: %d %s", created.status, created.body)
	}
	id := strings.Split(created.body, `"`)[3]

	const missing = "01890a5d-ac96-774b-bcce-b302099a8057"
	checks := []struct {
		method, path, token string
		status              int
		contains            string
	}{
		{"GET", "/triggers/" + id, "good", 200, `"trigger_event_id":"` + id + `"`},
		{"GET", "/triggers?limit=1", "good", 200, `"triggers":[{`},
		{"HEAD", "/triggers/" + id, "good", 200, ""},
		{"GET", "/triggers/" + missing, "good", 404, `"not_found"`},
		{"GET", "/triggers/7", "good", 422, `["path","id"]`},
		{"GET", "/triggers/" + id, "", 401, `"authentication_failed"`},
		{"POST", "/triggers", "bad", 401, `"authentication_failed"`},
	}
	for _, c := range checks {
		got := p.do(c.method, p.prefix+c.path, c.token)
		if got.status != c.status || c.method != "HEAD" && !strings.Contains(got.body, c.contains) {
			p.t.Errorf("%s %s: got %d %s, want %d with %s", c.method, c.path, got.status, got.body, c.status, c.contains)
		}
	}

	refused := p.do("DELETE", p.prefix+"/triggers", "good")
	if refused.status != http.StatusMethodNotAllowed {
		p.t.Errorf("DELETE: got %d %s", refused.status, refused.body)
	}
	if allow := refused.header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		p.t.Errorf("DELETE: Allow is %q", allow)
	}
	if ours := strings.Contains(refused.body, `"method_not_allowed"`); ours == own405 {
		p.t.Errorf("DELETE: answered by the wrong one: %s", refused.body)
	}
}

// checkUnclean sends paths that a careless mount would redirect out of the prefix, or
// fail on.
func (p probe) checkUnclean(cleans bool) {
	p.t.Helper()
	clean := p.prefix + "/triggers"
	for _, path := range []string{
		p.prefix + "//triggers", p.prefix + "/./triggers", p.prefix + "/triggers/../triggers", p.prefix + "/triggers//x/..",
		"/" + p.prefix + "/triggers", p.prefix + "/triggers/.", p.prefix + "/triggers//",
	} {
		for _, method := range []string{"GET", "POST"} {
			got := p.do(method, path, "good")
			switch {
			case got.status >= 500:
				p.t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			case got.status >= 300 && got.status < 400:
				if !cleans {
					p.t.Errorf("%s %s: %d: doc.go says that this router does not redirect", method, path, got.status)
				}
				if to := got.header.Get("Location"); strings.TrimSuffix(to, "/") != clean {
					p.t.Errorf("%s %s: redirected to %q, not to %q", method, path, to, clean)
				}
			case got.status < 300 && got.body != hostPage:
				p.t.Errorf("%s %s: answered with %d %s", method, path, got.status, got.body)
			}
		}
	}
}
