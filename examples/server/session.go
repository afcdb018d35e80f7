package main

import (
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// sessionCookie holds the access token, which is verified at each request: a token that
// has ended ends the session. No script can read the cookie, and no other site can have
// it sent. It has no path: the browser takes the folder of the address that began the
// session, site.folder, wherever a proxy mounts this program (RFC 6265, 5.1.4).
// A cookie is for all ports of a machine, so a session of the demo, whose cookie is for all
// paths, has another name than one of a server with a document.
const (
	sessionCookie = "mortise_search"
	demoCookie    = "mortise_session"
)

// loginView is the form for the access token. After it the visitor goes on to the run, if
// it is set.
type loginView struct {
	Problem      string
	Dataset, Run string
}

// What a form has at most, in bytes.
const (
	maxForm  = 64 << 10
	maxLogin = 8 << 10 // of somebody who is not known yet
)

var errTooMuch = &refusal{http.StatusRequestEntityTooLarge, "That is too much for this form."}

// readForm reads a form that was sent. What is too long is not read to its end. A body of
// another type is not read at all: net/http would write the files of a multipart form to
// the disk.
func readForm(w http.ResponseWriter, r *http.Request, most int64) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if (err != nil || kind != "application/x-www-form-urlencoded") && r.ContentLength != 0 {
		return nil, &refusal{http.StatusUnsupportedMediaType, "This is not how the form of this page is sent."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err = r.ParseForm()
	if err == nil {
		return r.PostForm, nil
	}
	// net/http does not see through the reader above that the body was not read to its end.
	w.Header().Set("Connection", "close")
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, errTooMuch
	}
	return nil, &refusal{http.StatusBadRequest, "The form arrived damaged. Send it again."}
}

// cookie returns the name of the cookie.
func (p *site) cookie() string {
	if p.folder == searchPath {
		return sessionCookie
	}
	return demoCookie
}

// sessionToken returns the access token of the session, or "" without a session.
func (p *site) sessionToken(r *http.Request) string {
	cookie, err := r.Cookie(p.cookie())
	if err != nil {
		return ""
	}
	token, _ := base64.RawURLEncoding.DecodeString(cookie.Value) // verify refuses a damaged token
	return string(token)
}

// visitor finds out who is asking.
func (p *site) visitor(r *http.Request) (httpadapter.Principal, error) {
	if token := p.sessionToken(r); token != "" {
		return p.verify(r.Context(), token)
	}
	return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
}

func (p *site) showLogin(w http.ResponseWriter, r *http.Request, v loginView) {
	status := http.StatusUnauthorized
	if r.URL.Path == searchPath && v.Problem == "" {
		status = http.StatusOK // nobody has done anything wrong yet
	} else {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.show(w, r, status, siteView{Title: "Search for sounds", Login: &v})
}

// login verifies an access token and keeps it in the cookie.
func (p *site) login(w http.ResponseWriter, r *http.Request, v *visit) error {
	token := strings.TrimSpace(v.values.Get("token"))
	view := loginView{Dataset: v.values.Get("dataset"), Run: v.values.Get("run")}
	_, err := p.verify(r.Context(), token)
	if errors.Is(err, httpadapter.ErrUnauthenticated) {
		view.Problem = "This is no access token that is valid now. Look whether it is complete, or ask for a new one."
		p.showLogin(w, r, view)
		return nil
	}
	if err != nil {
		return err
	}
	p.begin(w, token)
	root, search := links(r.URL.Path)
	if view.Run != "" {
		return redirect(w, link(search+"run", "dataset", view.Dataset, "run", view.Run))
	}
	return redirect(w, root+"search")
}

// begin keeps an access token in the cookie.
func (p *site) begin(w http.ResponseWriter, token string) {
	p.setSession(w, &http.Cookie{Value: base64.RawURLEncoding.EncodeToString([]byte(token))})
}

// logout forgets the access token. It stays valid.
func (p *site) logout(w http.ResponseWriter, _ *http.Request, _ *visit) error {
	p.setSession(w, &http.Cookie{MaxAge: -1})
	if p.folder == searchPath {
		return redirect(w, "../search")
	}
	return redirect(w, "./")
}

func (p *site) setSession(w http.ResponseWriter, c *http.Cookie) {
	c.Name, c.HttpOnly, c.Secure, c.SameSite = p.cookie(), true, p.secure, http.SameSiteStrictMode
	http.SetCookie(w, c)
}
