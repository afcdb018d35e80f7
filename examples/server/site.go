package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

//go:embed home.html site.html
var sitePages embed.FS

var siteTemplate = template.Must(template.New("site.html").Funcs(template.FuncMap{
	"clock": clockFine, "link": link, "percent": percent, "seconds": seconds,
}).ParseFS(sitePages, "*.html"))

//go:embed home.js search.css search.js search.svg
var siteAssets embed.FS

// site is the program's pages for people: the first page (home.go) and the search for
// sounds (search_page.go). It knows its visitors by an access token in a cookie, see
// session.go. All its links are relative, for the sake of a proxy that mounts this program
// under a path.
type site struct {
	verify  verifier
	origins *http.CrossOriginProtection
	secure  bool                 // the cookie is for https alone
	folder  string               // of the addresses that begin and end a session
	routes  map[string]siteRoute // by path
	log     *slog.Logger
}

// siteRoute answers at one path.
type siteRoute struct {
	methods string          // toRead or toPost
	open    bool            // to all; else to known visitors
	form    int64           // how many bytes of a form it reads; 0: it reads no body
	needs   []access.Action // that a visitor must be allowed with the dataset that is named
	answer  siteHandler
}

// siteHandler answers a visit. An error is answered by [site.fail].
type siteHandler = func(w http.ResponseWriter, r *http.Request, v *visit) error

// visit is a request of a person.
type visit struct {
	httpadapter.Principal            // zero where a route is open
	values                url.Values // of the form, or else of the link
}

// The methods of routes, as the Allow header of a 405 lists them.
const (
	toRead = "GET, HEAD"
	toPost = "POST"
)

func newSite(s *settings, verify verifier, log *slog.Logger) (*site, error) {
	origins := http.NewCrossOriginProtection()
	public, err := url.Parse(s.publicURL)
	if err == nil { // a proxy may send another Host header than the browser did
		err = origins.AddTrustedOrigin(public.Scheme + "://" + public.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("-public-url: %w", err)
	}
	p := &site{verify: verify, origins: origins, secure: public.Scheme == "https", folder: searchPath, log: log}
	if s.demo.code != nil {
		p.folder = "" // the demo's first page has a session, too
	}
	p.routes = map[string]siteRoute{
		p.folder + "/login":        {methods: toPost, open: true, form: maxLogin, answer: p.login},
		p.folder + "/logout":       {methods: toPost, open: true, answer: p.logout},
		"/home.js":                 {methods: toRead, open: true, answer: asset("text/javascript; charset=utf-8", "home.js")},
		searchPath + "/search.css": {methods: toRead, open: true, answer: asset("text/css; charset=utf-8", "search.css")},
		searchPath + "/search.js":  {methods: toRead, open: true, answer: asset("text/javascript; charset=utf-8", "search.js")},
		searchPath + "/search.svg": {methods: toRead, open: true, answer: asset("image/svg+xml", "search.svg")},
	}
	return p, nil
}

// asset serves a file of the pages themselves.
func asset(mediaType, name string) siteHandler {
	content, err := siteAssets.ReadFile(name)
	return func(w http.ResponseWriter, _ *http.Request, _ *visit) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(content) // the caller is gone if this fails
		return err
	}
}

// serves reports whether a path is the site's, with a page or without one.
func (p *site) serves(path string) bool {
	_, ok := p.routes[path]
	return ok || strings.HasPrefix(path+"/", searchPath+"/")
}

// ServeHTTP implements [http.Handler].
func (p *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with less, a browser would not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store")

	route, ok := p.routes[r.URL.Path]
	if route.form == 0 {
		r = bodyless(r)
	}
	var err error
	switch {
	case !ok:
		err = &refusal{http.StatusNotFound, "There is no such page."}
	case !slices.Contains(strings.Split(route.methods, ", "), r.Method):
		h.Set("Allow", route.methods)
		err = &refusal{http.StatusMethodNotAllowed, "This address does not answer to that kind of request."}
	case p.origins.Check(r) != nil:
		err = &refusal{http.StatusForbidden, "This form was sent from another site. Open the page on this site and start there."}
	default:
		err = p.receive(w, r, &route)
	}
	if err != nil {
		p.fail(w, r, err)
	}
}

// receive authenticates the visitor before it reads the form.
func (p *site) receive(w http.ResponseWriter, r *http.Request, route *siteRoute) (err error) {
	v := &visit{values: r.URL.Query()}
	if !route.open {
		if v.Principal, err = p.visitor(r); err != nil {
			return err
		}
	}
	if route.form > 0 {
		if v.values, err = readForm(w, r, route.form); err != nil {
			return err
		}
	}
	for _, action := range route.needs {
		if err := v.may(action, v.values.Get("dataset")); err != nil {
			return err
		}
	}
	return route.answer(w, r, v)
}

// may returns an error unless the visitor may do something with a dataset.
func (v *visit) may(action access.Action, dataset string) error {
	if v.allows(action, dataset) {
		return nil
	}
	return &refusal{http.StatusForbidden, "Your access token does not allow this. Ask whoever gave it to you."}
}

func (v *visit) allows(action access.Action, dataset string) bool {
	return v.Access.Allows(action, access.Resource{Type: access.Dataset, ID: dataset})
}

// siteView is the data of the template.
type siteView struct {
	Title string
	Text  string
	Root  string // link to the first page
	Base  string // of links to addresses below searchPath
	Enter string // of links to the addresses that begin and end a session
	Who   *visit
	Home  *homeView
	Login *loginView
	Form  *formView
	Run   *runView
}

// links returns the links from a page to the first page, and to the folder of the search
// page.
func links(path string) (root, search string) {
	if strings.HasPrefix(path, searchPath+"/") {
		return "../", ""
	}
	return "./", "search/"
}

// show answers with a page.
func (p *site) show(w http.ResponseWriter, r *http.Request, status int, v siteView) {
	v.Root, v.Base = links(r.URL.Path)
	v.Enter = v.Root
	if p.folder == searchPath {
		v.Enter = v.Base
	}
	var b bytes.Buffer
	if err := siteTemplate.Execute(&b, v); err != nil { // a mistake in the template
		p.log.ErrorContext(r.Context(), "a page cannot be made", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the caller is gone if this fails
}

// refusal is an error whose text is for the visitor.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// fail answers an error: a refusal, or the error of a service.
func (p *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	var why *refusal
	switch {
	case errors.As(err, &why):
	case errors.Is(err, httpadapter.ErrUnauthenticated):
		query := r.URL.Query()
		p.showLogin(w, r, loginView{Dataset: query.Get("dataset"), Run: query.Get("run")})
		return
	case errors.Is(err, audiosearch.ErrDatasetNotFound), errors.Is(err, audiosearch.ErrRunNotFound), errors.Is(err, audiosearch.ErrVideoNotFound):
		why = &refusal{http.StatusNotFound, "There is no such search, dataset or video. It may have been deleted."}
	case errors.Is(err, mortise.ErrDeleted):
		why = &refusal{http.StatusUnauthorized, "Your organization was deleted."}
	case errors.Is(err, audiosearch.ErrTooManyRuns):
		why = &refusal{http.StatusTooManyRequests, "Too many searches have not ended. Try again when some have."}
	case errors.Is(err, sound.ErrBadMedia):
		why = &refusal{http.StatusNotFound, "The file of this video cannot be read at the moment."}
	default:
		if r.Context().Err() == nil {
			p.log.ErrorContext(r.Context(), "page: request failed", "path", r.URL.Path, "error", err)
		}
		why = &refusal{http.StatusServiceUnavailable, "The service is temporarily unavailable. Try again in a moment."}
	}
	switch why.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.show(w, r, why.status, siteView{Title: "This does not work", Text: why.text})
}

// redirect sends the visitor to a link relative to the address of the request.
// [http.Redirect] would make it absolute.
func redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
