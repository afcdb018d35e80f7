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
// it sent. It has no path: the browser takes the folder of the login, which is
// searchPath, wherever a proxy mounts this program (RFC 6265, 5.1.4).
const sessionCookie = "mortise_search"

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

// form reads a form that was sent, and answers if it cannot be read. What is too long is
// not read to its end. A body of another type is not read at all: net/http would write
// the files of a multipart form to the disk.
func (p *searchPage) form(w http.ResponseWriter, r *http.Request, most int64) (url.Values, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if (err != nil || kind != "application/x-www-form-urlencoded") && r.ContentLength != 0 {
		p.refuse(w, r, http.StatusUnsupportedMediaType, "This is not how the form of this page is sent.")
		return nil, false
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err = r.ParseForm()
	if err != nil {
		// net/http does not see through the reader above that the body was not read to
		// its end.
		w.Header().Set("Connection", "close")
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		p.refuse(w, r, http.StatusRequestEntityTooLarge, "That is too much for this form.")
	case err != nil:
		p.refuse(w, r, http.StatusBadRequest, "The form arrived damaged. Send it again.")
	}
	return r.PostForm, err == nil
}

// visitor finds out who is asking, and answers with the login if nobody is known.
func (p *searchPage) visitor(w http.ResponseWriter, r *http.Request) (httpadapter.Principal, bool) {
	var who httpadapter.Principal
	err := httpadapter.ErrUnauthenticated
	if cookie, missing := r.Cookie(sessionCookie); missing == nil {
		if token, bad := base64.RawURLEncoding.DecodeString(cookie.Value); bad == nil {
			who, err = p.verify(r.Context(), string(token))
		}
	}
	switch {
	case err == nil:
		return who, true
	case errors.Is(err, httpadapter.ErrUnauthenticated):
		query := r.URL.Query()
		p.showLogin(w, r, loginView{Dataset: query.Get("dataset"), Run: query.Get("run")})
	default:
		p.fail(w, r, err)
	}
	return who, false
}

func (p *searchPage) showLogin(w http.ResponseWriter, r *http.Request, v loginView) {
	status := http.StatusUnauthorized
	if r.URL.Path == searchPath && v.Problem == "" {
		status = http.StatusOK // nobody has done anything wrong yet
	} else {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	p.show(w, r, status, searchView{Title: "Search for sounds", Login: &v})
}

// login verifies an access token and keeps it in the cookie.
func (p *searchPage) login(w http.ResponseWriter, r *http.Request) {
	form, ok := p.form(w, r, maxLogin)
	if !ok {
		return
	}
	token := strings.TrimSpace(form.Get("token"))
	view := loginView{Dataset: form.Get("dataset"), Run: form.Get("run")}
	_, err := p.verify(r.Context(), token)
	switch {
	case errors.Is(err, httpadapter.ErrUnauthenticated):
		view.Problem = "This is no access token that is valid now. Look whether it is complete, or ask for a new one."
		p.showLogin(w, r, view)
		return
	case err != nil:
		p.fail(w, r, err)
		return
	}
	p.setSession(w, &http.Cookie{Value: base64.RawURLEncoding.EncodeToString([]byte(token))})
	if view.Run != "" {
		redirect(w, runLink(view.Dataset, view.Run))
		return
	}
	redirect(w, "../search")
}

// logout forgets the access token. It stays valid.
func (p *searchPage) logout(w http.ResponseWriter, _ *http.Request) {
	p.setSession(w, &http.Cookie{MaxAge: -1})
	redirect(w, "../search")
}

func (p *searchPage) setSession(w http.ResponseWriter, c *http.Cookie) {
	c.Name, c.HttpOnly, c.Secure, c.SameSite = sessionCookie, true, p.secure, http.SameSiteStrictMode
	http.SetCookie(w, c)
}
