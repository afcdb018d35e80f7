package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

//go:embed search.html
var searchPageText string

var searchTemplate = template.Must(template.New("search").Funcs(template.FuncMap{
	"clock": clockFine, "link": link, "percent": percent, "seconds": seconds,
}).Parse(searchPageText))

//go:embed search.css search.js search.svg
var searchPageAssets embed.FS

// searchPath is where the search page is. What belongs to it is below.
const searchPath = "/search"

// searchPage is the audio search for people: a form, the progress of a run, and its
// results with pictures and players. It knows its visitors by an access token in a
// cookie, see search_page_session.go. All its links are relative, for the sake of a proxy
// that mounts this program under a path. Files are named by dataset and video, and never
// by path.
type searchPage struct {
	service   *audiosearch.Service
	files     sound.Files
	listening *excerpt.Places // for what else is heard
	verify    verifier
	origins   *http.CrossOriginProtection
	secure    bool                   // the cookie is for https alone
	routes    map[string]searchRoute // by path below searchPath
	stopping  context.Context        // ends when the server is told to end
	log       *slog.Logger
}

// searchRoute is what answers at one path.
type searchRoute struct {
	methods string          // toRead or toPost
	open    bool            // to everybody; else to visitors who are known
	form    int64           // how many bytes of a form it reads; 0: it reads no body
	needs   []access.Action // what a visitor must be allowed to do with the dataset that is named
	answer  searchHandler
}

// searchHandler answers a visit. What it has not answered ends in an error.
type searchHandler = func(w http.ResponseWriter, r *http.Request, v *visit) error

// visit is a request of somebody.
type visit struct {
	httpadapter.Principal            // nobody where a route is open
	values                url.Values // of the form, or of the link where there is none
}

// What routes answer to, as the Allow header of an answer to anything else has it.
const (
	toRead = "GET, HEAD"
	toPost = "POST"
)

func newSearchPage(
	s *settings, service *audiosearch.Service, files sound.Files, media sound.Media, programs *ffmpeg.Media, verify verifier, log *slog.Logger,
) (*searchPage, error) {
	origins := http.NewCrossOriginProtection()
	public, err := url.Parse(s.publicURL)
	if err == nil { // a proxy may send another Host header than the browser did
		err = origins.AddTrustedOrigin(public.Scheme + "://" + public.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("-public-url: %w", err)
	}
	p := &searchPage{
		service: service, files: files, listening: excerpt.NewPlaces(), verify: verify, origins: origins,
		secure: public.Scheme == "https", stopping: context.Background(), log: log,
	}
	p.routes = map[string]searchRoute{
		"":            {methods: toRead, answer: p.showForm},
		"/":           {methods: toRead, open: true, answer: goHome},
		"/login":      {methods: toPost, open: true, form: maxLogin, answer: p.login},
		"/logout":     {methods: toPost, open: true, answer: p.logout},
		"/start":      {methods: toPost, form: maxForm, answer: p.start},
		"/run":        {methods: toRead, needs: []access.Action{access.GetRun, access.GetResults}, answer: p.showRun},
		"/status":     {methods: toRead, needs: []access.Action{access.GetRun}, answer: p.runStatus},
		"/cancel":     {methods: toPost, form: maxForm, needs: []access.Action{access.CancelRun}, answer: p.cancel},
		"/media":      {methods: toRead, needs: []access.Action{access.GetResults}, answer: p.media},
		"/search.css": {methods: toRead, open: true, answer: asset("text/css; charset=utf-8", "search.css")},
		"/search.js":  {methods: toRead, open: true, answer: asset("text/javascript; charset=utf-8", "search.js")},
		"/search.svg": {methods: toRead, open: true, answer: asset("image/svg+xml", "search.svg")},
	}
	for path, kind := range map[string]struct {
		what string
		excerpt.Kind
	}{
		"/picture":     {"picture", excerpt.Pictures(programs.Picture, pictureWidth)},
		"/sound":       {"sound", excerpt.Sounds(media)},
		"/spectrogram": {"picture", excerpt.Spectrograms(media)},
	} {
		maker, err := excerpt.New(service, files, kind.Kind, nil)
		if err != nil {
			return nil, fmt.Errorf("make the excerpts of the search page: %w", err)
		}
		p.routes[path] = searchRoute{methods: toRead, needs: []access.Action{access.GetResults}, answer: p.excerpt(kind.what, maker)}
	}
	return p, nil
}

const pictureWidth = 320 // pixels

// asset serves a file of the page itself.
func asset(mediaType, name string) searchHandler {
	content, err := searchPageAssets.ReadFile(name)
	return func(w http.ResponseWriter, _ *http.Request, _ *visit) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(content) // the caller is gone if this fails
		return err
	}
}

// ServeHTTP implements [http.Handler].
func (p *searchPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with less, a browser would not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store")

	route, ok := p.routes[strings.TrimPrefix(r.URL.Path, searchPath)]
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
		err = &refusal{http.StatusForbidden, "This form was sent from another site. Open the search page and start there."}
	default:
		err = p.receive(w, r, &route)
	}
	if err != nil {
		p.fail(w, r, err)
	}
}

// receive finds out who is asking, before it reads what they ask for.
func (p *searchPage) receive(w http.ResponseWriter, r *http.Request, route *searchRoute) (err error) {
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

// searchView is what the template shows.
type searchView struct {
	Title string
	Text  string
	Base  string // of links to what is below searchPath
	Home  string // link to the page at searchPath
	Who   *visit
	Login *loginView
	Form  *formView
	Run   *runView
}

// show answers with a page.
func (p *searchPage) show(w http.ResponseWriter, r *http.Request, status int, v searchView) {
	v.Home = "../search"
	if r.URL.Path == searchPath {
		v.Base, v.Home = "search/", "search"
	}
	var b bytes.Buffer
	if err := searchTemplate.Execute(&b, v); err != nil { // a mistake in the template
		p.log.ErrorContext(r.Context(), "the search page cannot be made", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the caller is gone if this fails
}

// refusal is an answer that says why there is no other.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// fail answers an error: a refusal, or what a service has returned.
func (p *searchPage) fail(w http.ResponseWriter, r *http.Request, err error) {
	var why *refusal
	switch {
	case errors.As(err, &why):
	case errors.Is(err, httpadapter.ErrUnauthenticated):
		query := r.URL.Query()
		p.showLogin(w, r, loginView{Dataset: query.Get("dataset"), Run: query.Get("run")})
		return
	case errors.Is(err, audiosearch.ErrDatasetNotFound), errors.Is(err, audiosearch.ErrRunNotFound), errors.Is(err, audiosearch.ErrVideoNotFound):
		why = &refusal{http.StatusNotFound, "There is no such search, dataset or video. It may have been deleted."}
	case errors.Is(err, audiosearch.ErrDeleted):
		why = &refusal{http.StatusUnauthorized, "Your organization was deleted."}
	case errors.Is(err, audiosearch.ErrTooManyRuns):
		why = &refusal{http.StatusTooManyRequests, "Too many searches have not ended. Try again when some have."}
	case errors.Is(err, sound.ErrBadMedia):
		why = &refusal{http.StatusNotFound, "The file of this video cannot be read at the moment."}
	default:
		if r.Context().Err() == nil {
			p.log.ErrorContext(r.Context(), "search page: request failed", "path", r.URL.Path, "error", err)
		}
		why = &refusal{http.StatusServiceUnavailable, "The service is temporarily unavailable. Try again in a moment."}
	}
	switch why.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.show(w, r, why.status, searchView{Title: "This does not work", Text: why.text})
}

// redirect sends the visitor to a link relative to the address of the request.
// [http.Redirect] would make it absolute.
func redirect(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func goHome(w http.ResponseWriter, _ *http.Request, _ *visit) error { return redirect(w, "../search") }
