package httpadapter

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

//go:embed authmgmt_accept.html
var acceptPageText string

//go:embed authmgmt_accept.css
var acceptPageStyle string

// acceptPageScript is on the page that shows the given token, and copies it.
//
//go:embed authmgmt_accept.js
var acceptPageScript string

// acceptPage is the page at AcceptPath. Its form names no address, so that it is sent to
// where the page is: the link's token stands nowhere in the page. Nothing but the token
// decides, no cookie and no session, so there is no request that another site could
// forge.
type acceptPage struct {
	a        *authMgmtAdapter
	template *template.Template
	next     string      // AuthMgmtOptions.AcceptNext
	header   http.Header // without a script
	scripted http.Header // with acceptPageScript
}

// acceptView is the data of the template. All text but Style and Script is escaped.
type acceptView struct {
	Title      string
	Text       []string
	Invitation *authmgmt.Invitation
	Reply      string
	Until      time.Time // the end of an access token; zero: the reply is the host's own
	Next       string
	Form       bool
	Style      template.CSS
	Script     template.JS
}

func newAcceptPage(a *authMgmtAdapter, next string) (*acceptPage, error) {
	t, err := template.New("accept").Parse(acceptPageText)
	if err != nil {
		return nil, fmt.Errorf("httpadapter: parse the acceptance page: %w", err)
	}
	if u, err := url.Parse(next); next != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		return nil, errors.New("httpadapter: AuthMgmtOptions.AcceptNext must be an absolute http or https URL without a user")
	}
	header := func(script string) http.Header {
		return http.Header{
			"Referrer-Policy": {"no-referrer"},
			"X-Robots-Tag":    {"noindex"},
			"Content-Security-Policy": {"default-src 'none'; style-src " + sourceHash(acceptPageStyle) + script +
				"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
		}
	}
	return &acceptPage{a: a, template: t, next: next, header: header(""), scripted: header("; script-src " + sourceHash(acceptPageScript))}, nil
}

// sourceHash names a style sheet or a script of a page in its Content-Security-Policy.
func sourceHash(text string) string {
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

func (p *acceptPage) operations() []*operation {
	errs := errorTable{classify: acceptFailures.classify, reply: p.refusal}
	return []*operation{ // what comes as a body is dropped unread
		open("showInvitation", http.MethodGet, AcceptPath+"{token}", errs, p.show),
		open("acceptInvitation", http.MethodPost, AcceptPath+"{token}", errs, p.accept),
	}
}

// show is showInvitation. It changes nothing: programs that look at links before people
// do must not use them up.
func (p *acceptPage) show(c *call) response {
	i, err := p.a.service.InvitationByLink(c.r.Context(), c.r.PathValue("token"))
	if err != nil {
		return p.a.h.fail(c, err)
	}
	return p.page(http.StatusOK, acceptView{
		Title:      "You are invited",
		Text:       []string{"You are invited to join an organization. Nothing happens until you accept."},
		Invitation: &i, Form: true,
	})
}

// accept serves the operation acceptInvitation.
func (p *acceptPage) accept(c *call) response {
	i, reply, err := p.a.service.Accept(c.r.Context(), c.r.PathValue("token"), "")
	if err != nil {
		return p.a.h.fail(c, err)
	}
	v := acceptView{
		Title:      "The invitation is accepted",
		Text:       []string{"You have accepted the invitation. Its link cannot be used again."},
		Invitation: &i, Reply: reply.Reveal(), Next: p.next,
	}
	if lifetime := p.a.service.GrantToken(); lifetime > 0 {
		v.Until = i.GrantedAt.Add(lifetime)
	}
	return p.page(http.StatusOK, v)
}

// grantPending is the code of the problem that lets the person try again.
const grantPending = "grant_pending"

// refusal gives a problem the shape of a page.
func (p *acceptPage) refusal(failure problem) response {
	status := kinds[failure.kind].status
	var v acceptView
	switch failure.kind {
	case notFound:
		v.Title = "This invitation cannot be used"
		v.Text = []string{
			"The link is not complete, or the invitation was used, cancelled or replaced, or its time is over.",
			"If you have accepted it before and have what you need, all is well. " +
				"Otherwise ask the person who invited you for a new invitation.",
		}
	case forbidden:
		v.Title = "You cannot accept this invitation"
		v.Text = []string{"The organization does not admit you with this invitation. Ask the person who invited you. The invitation stays open."}
	case domain:
		status = failure.status
		v.Title = "The invitation is accepted"
		v.Text = []string{"Your access is being set up. Press the button again in a moment."}
		v.Form = true
	case methodNotAllowed:
		v.Title = "This page cannot do that"
		v.Text = []string{"Open the link from your invitation in a browser."}
	default:
		v.Title = "This does not work at the moment"
		v.Text = []string{"The service is temporarily unavailable. Open the link from your invitation again later."}
	}
	return p.page(status, v)
}

var htmlType = []string{"text/html; charset=utf-8"}

func (p *acceptPage) page(status int, v acceptView) response {
	v.Style, v.Script = template.CSS(acceptPageStyle), template.JS(acceptPageScript) //nolint:gosec // files of this package
	header := p.header
	if v.Reply != "" {
		header = p.scripted
	}
	var b bytes.Buffer
	if err := p.template.Execute(&b, v); err != nil { // unreachable: a buffer takes everything, and the fields are there
		return response{status: http.StatusServiceUnavailable, header: header}
	}
	return response{status: status, body: b.Bytes(), mediaType: htmlType, header: header}
}
