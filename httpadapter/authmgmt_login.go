package httpadapter

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// maxLoginBody bounds the body of a token request, in bytes. The longest that can succeed
// has less than a tenth of it.
const maxLoginBody = 64 << 10

func (a *authMgmtAdapter) loginOperation() *operation {
	errs := errorTable{classify: loginFailures.classify, reply: replyToken}
	op := open("login", http.MethodPost, loginPath, errs, a.login).withOptionalBody()
	op.form, op.maxBody = true, maxLoginBody
	return op
}

// tokenBody is the answer of the token endpoint (RFC 6749 section 5.1).
type tokenBody struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"` // seconds
}

// login is the token endpoint, for the client credentials grant (RFC 6749 section 4.4).
func (a *authMgmtAdapter) login(c *call) response {
	given, wrong := tokenRequest(c)
	if wrong != nil {
		return *c.refuse(*wrong)
	}
	var text mortise.Secret
	var token authmgmt.Token
	var err error
	for _, one := range given {
		if token, text, err = a.service.Login(c.r.Context(), one.id, one.secret); !errors.Is(err, authmgmt.ErrInvalidCredentials) {
			break
		}
	}
	if errors.Is(err, authmgmt.ErrInvalidCredentials) {
		err = a.loginFailed(c.r, given[0].id, token.Client, err)
	}
	var limit *RateLimitError
	if errors.As(err, &limit) {
		return *c.tooMany(limit)
	}
	if err != nil {
		return a.h.fail(c, err)
	}
	body := tokenBody{AccessToken: text.Reveal(), TokenType: "Bearer", ExpiresIn: expiresIn(&token)}
	return response{status: http.StatusOK, body: mustJSON(body), header: tokenHeader}
}

// expiresIn is for how many seconds a token is good. Of a secret that is about to end that is
// less than one; 0 means for ever to golang.org/x/oauth2, so it is at least 1.
func expiresIn(t *authmgmt.Token) int64 {
	return max(1, int64(t.ExpiresAt.Sub(t.CreatedAt)/time.Second))
}

// loginFailed counts a failed login, and returns its error, or a [RateLimitError] if too many
// logins of the client ID have failed. It logs one line a second at most, because a stranger
// can cause any number of failures. shown is the client ID for the log.
func (a *authMgmtAdapter) loginFailed(r *http.Request, id, shown string, err error) error {
	count, tooMany := a.logins.add(id, r.RemoteAddr)
	if count > 0 {
		a.h.opts.Logger.WarnContext(r.Context(), "login refused", "client_id", shown, "address", r.RemoteAddr,
			"count", count, "request_id", RequestID(r.Context()))
	}
	return cmp.Or(tooMany, err)
}

// tokenParameters are those that the endpoint looks at. Others are ignored, as RFC 6749
// section 3.2 demands.
var tokenParameters = []string{"grant_type", "scope", "client_id", "client_secret"}

// credentials are a client's ID and secret as they were sent.
type credentials struct{ id, secret string }

// tokenRequest reads a token request: the client's credentials, or the two ways to read
// them, or what is wrong.
func tokenRequest(c *call) ([]credentials, *problem) {
	if credentialsInQuery(c.r.URL.RawQuery) {
		return nil, tokenProblem("invalid_request", "Credentials must not stand in the URL. Count these as known to others, and rotate the secret.")
	}
	read := readTokenForm
	if isJSON(c.r.Header) {
		read = readTokenJSON
	}
	given, wrong := read(c.body)
	if wrong != nil {
		return nil, wrong
	}
	var known []credentials
	if id, secret := given["client_id"], given["client_secret"]; id != "" && secret != "" {
		known = []credentials{{id, secret}}
	}
	switch headers := c.r.Header["Authorization"]; {
	case len(headers) > 1, len(headers) == 1 && given["client_secret"] != "":
		return nil, tokenProblem("invalid_request", "Send the client credentials once: by HTTP Basic, or in the body.")
	case len(headers) == 1:
		known = basicCredentials(c.r)
		// RFC 6749 section 3.2.1 has clients name themselves in the body as well.
		if id := given["client_id"]; id != "" && known != nil {
			known = slices.DeleteFunc(known, func(one credentials) bool { return one.id != id })
			if len(known) == 0 {
				return nil, tokenProblem("invalid_request", "The client_id in the body is not the one of HTTP Basic.")
			}
		}
	}
	switch given["grant_type"] {
	case "client_credentials":
	case "":
		return nil, tokenProblem("invalid_request", "The parameter grant_type is missing. It must be client_credentials.")
	default:
		return nil, tokenProblem("unsupported_grant_type", "The grant_type must be client_credentials.")
	}
	if given["scope"] != "" {
		return nil, tokenProblem("invalid_scope", "There are no scopes here: what a token allows follows from the roles of the client.")
	}
	if known == nil {
		return nil, tokenProblem(invalidClient, "Send client_id and client_secret, by HTTP Basic or in the body.")
	}
	return known, nil
}

// credentialsInQuery reports whether the URL holds a parameter that belongs into the
// body, with a value. URLs end up in logs.
func credentialsInQuery(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && value != "" && (plain == "client_id" || plain == "client_secret") {
			return true
		}
	}
	return false
}

var malformedToken = "The body must be a form, or a JSON object of strings, with each parameter given once."

// readTokenForm reads application/x-www-form-urlencoded. A parameter without a value is
// as one that is not there.
func readTokenForm(body []byte) (map[string]string, *problem) {
	given := make(map[string]string, len(tokenParameters))
	for pair := range strings.SplitSeq(string(body), "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return nil, tokenProblem("invalid_request", malformedToken)
		}
		if !slices.Contains(tokenParameters, name) {
			continue
		}
		if _, repeated := given[name]; repeated {
			return nil, tokenProblem("invalid_request", malformedToken)
		}
		given[name] = value
	}
	return given, nil
}

// readTokenJSON reads the same parameters as strings of an object.
func readTokenJSON(body []byte) (map[string]string, *problem) {
	var d decoder
	given := make(map[string]string, len(tokenParameters))
	if o, ok := d.optionalBody(body); ok {
		for _, name := range tokenParameters {
			given[name], _ = o.text(name, nullable, textRule{})
		}
	}
	if len(d.details) > 0 {
		return nil, tokenProblem("invalid_request", malformedToken)
	}
	return given, nil
}

// basicCredentials reads the client's credentials from the header. Each half is
// form-urlencoded (RFC 6749 section 2.3.1), which many clients, curl among them, do not
// know. So it also returns them as they came, if that makes a difference.
func basicCredentials(r *http.Request) []credentials {
	id, secret, ok := r.BasicAuth()
	if !ok || id == "" || secret == "" {
		return nil
	}
	given := []credentials{{id, secret}}
	plainID, err := url.QueryUnescape(id)
	if err != nil {
		return given
	}
	plainSecret, err := url.QueryUnescape(secret)
	if plain := (credentials{plainID, plainSecret}); err == nil && plain != given[0] {
		given = []credentials{plain, given[0]}
	}
	return given
}

const invalidClient = "invalid_client"

// tokenProblem is an error of the token endpoint (RFC 6749 section 5.2). The description
// has no quotes and no backslash, which that section does not allow, and nothing of the
// request.
func tokenProblem(code, description string) *problem {
	status := http.StatusBadRequest
	if code == invalidClient {
		status = http.StatusUnauthorized
	}
	return &problem{kind: domain, status: status, code: code, message: description}
}

type tokenErrorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// tokenTexts are the token endpoint's words for the kinds that all services know.
var tokenTexts = map[kind]string{
	unavailable:          "The service is temporarily unavailable. Send the request again later.",
	methodNotAllowed:     "The token endpoint answers to POST.",
	unsupportedMediaType: "Send the body as application/x-www-form-urlencoded or application/json, in UTF-8, not compressed.",
	tooLarge:             "The body is larger than the token endpoint accepts.",
	requestTimeout:       "The body did not arrive in time.",
	tooManyRequests:      "There are too many logins. Try again later: the Retry-After header says when.",
	invalid:              "The body did not arrive to its end.",
}

// Headers of the token endpoint's answers (RFC 6749 sections 5.1 and 5.2). Every 401 must
// say how to authenticate (RFC 9110 section 15.5.2), and HTTP Basic is the way that every
// client has.
var (
	tokenHeader     = http.Header{"Pragma": {"no-cache"}}
	challengeHeader = http.Header{"Pragma": {"no-cache"}, "Www-Authenticate": {`Basic realm="token endpoint", charset="UTF-8"`}}
)

// replyToken gives a problem the shape of RFC 6749 section 5.2.
func replyToken(p problem) response {
	resp := response{status: kinds[p.kind].status, header: tokenHeader}
	body := tokenErrorBody{"invalid_request", tokenTexts[p.kind]}
	switch p.kind {
	case domain:
		resp.status, body = p.status, tokenErrorBody{p.code, p.message}
		if p.status == http.StatusUnauthorized {
			resp.header = challengeHeader
		}
	case invalid:
		resp.status = http.StatusBadRequest
	case unavailable:
		body.Error = "temporarily_unavailable"
	case tooManyRequests:
		body.Error = "slow_down" // RFC 8628 section 3.5 registered it for token endpoints
	}
	resp.body = mustJSON(body)
	return resp
}
