package httpadapter

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// The reasons of what the adapter finds. Programs rely on them, as on those of
// vaultFailures.
const (
	reasonJSON          = "json_invalid"
	reasonType          = "wrong_type"
	reasonListMissing   = "list_missing"
	reasonListEmpty     = "list_empty"
	reasonListTooLong   = "list_too_long"
	reasonValueMissing  = "value_missing"
	reasonAnswerTooLong = "answer_too_long"
	reasonValueTooLong  = "value_too_long"
	reasonNoPlace       = "place_missing"
	reasonHalfPlace     = "place_incomplete"
	reasonTwoPlaces     = "place_ambiguous"
	reasonFieldsMissing = "fields_missing"
	reasonFieldsEmpty   = "fields_empty"
	reasonTokenMissing  = "token_missing"
	reasonRedaction     = "redaction_unknown"
	reasonNotText       = "value_not_text"
	reasonCorrupt       = "value_corrupt"
	reasonVaultNotFound = "vault_not_found"
	reasonUnsupported   = "field_unsupported"

	reasonKeyUnsupported = "idempotency_key_unsupported"
)

var vaultErrors = errorTable{classify: classifyVault, reply: replyVault}

// vaultFailures are all failures that get past the adapter's own checks. An item can be to
// blame for each of them. ErrNotFound comes after the errors that match it as well.
var vaultFailures = append(failures{
	{vault.ErrGroupNotFound, vaultFailure(http.StatusBadRequest, "column_group_not_found",
		"The vault has no such column group.")},
	{vault.ErrTooMuch, vaultFailure(http.StatusBadRequest, reasonAnswerTooLong,
		"The values are too long for one answer. Ask for fewer tokens.")},
	{vault.ErrTableNotFound, vaultFailure(http.StatusNotFound, "table_not_found", "The vault has no such table.")},
	{vault.ErrColumnNotFound, vaultFailure(http.StatusNotFound, "column_not_found", "The table has no such column.")},
	{vault.ErrValueNotFound, vaultFailure(http.StatusNotFound, "value_not_found",
		"The value has no token. Insert it first.")},
	{vault.ErrTokenNotFound, vaultFailure(http.StatusNotFound, "token_not_found",
		"The vault has no such token, or it was deleted.")},
	{mortise.ErrNotFound, vaultFailure(http.StatusNotFound, reasonVaultNotFound, "There is no such vault.")},
	{vault.ErrForbidden, vaultFailure(http.StatusForbidden, "redaction_not_allowed",
		"These credentials do not allow as much of the value to be shown. Ask for less, or leave redaction out.")},
	{vault.ErrNotDeterministic, vaultFailure(http.StatusUnprocessableEntity, "not_deterministic",
		"The column is not deterministic, so a value cannot be asked for its token.")},
	{vault.ErrNotTokenized, vaultFailure(http.StatusUnprocessableEntity, "not_tokenized",
		"The column has no tokenization. Leave its values out.")},
	{format.ErrMismatch, vaultFailure(http.StatusUnprocessableEntity, "format_mismatch",
		"The value does not fit the format of its column.")},
	{format.ErrExhausted, vaultFailure(http.StatusUnprocessableEntity, "format_exhausted",
		"The format of the column has no room for another token.")},
	{vault.ErrFull, vaultFailure(http.StatusUnprocessableEntity, "vault_full",
		"The vault keeps no more for this organization. Delete tokens that are not needed.")},
	{keyring.ErrCorrupt, vaultFailure(http.StatusInternalServerError, reasonCorrupt, "What is stored is corrupt.")},
}, commonFailures...)

func vaultFailure(status int, reason, text string) problem {
	return vaultProblem(status, itemDetail{Reason: reason, text: text})
}

// classifyVault knows the errors of package vault.
func classifyVault(err error) (problem, bool) {
	var batch *vault.BatchError
	if errors.As(err, &batch) {
		return batchProblem(batch)
	}
	return vaultFailures.classify(err)
}

// batchProblem answers the errors of items. A corrupt value is told of before one whose
// key is not loaded.
func batchProblem(batch *vault.BatchError) (problem, bool) {
	if errors.Is(batch, keyring.ErrCorrupt) {
		return corruptProblem(batch), false
	}
	p := problem{kind: domain}
	for _, item := range batch.Items {
		f, _ := vaultFailures.find(item.Err)
		if len(f.items) == 0 {
			return problem{kind: unavailable}, false
		}
		d := f.items[0]
		d.Index = &item.Index
		var format *format.Error
		if errors.As(item.Err, &format) {
			d.text = "The value does not fit the format of its column: " + strings.TrimSuffix(format.Message, ".") + "."
		}
		p.status, p.items = f.status, append(p.items, d)
	}
	return p, true
}

// corruptProblem names the first token whose value does not open.
func corruptProblem(batch *vault.BatchError) problem {
	p := problem{kind: domain, status: http.StatusInternalServerError}
	for _, item := range batch.Items {
		var token *vault.TokenError
		if errors.Is(item.Err, keyring.ErrCorrupt) && errors.As(item.Err, &token) {
			p.items = append(p.items, itemDetail{Index: &item.Index, Reason: reasonCorrupt,
				text: fmt.Sprintf("What is stored under the token %q is corrupt.", token.Token)})
		}
	}
	return p
}

func vaultProblem(status int, items ...itemDetail) problem {
	return problem{kind: domain, status: status, items: items}
}

// grpcCodes are those of google.rpc.Code that stand beside each status.
var grpcCodes = map[int]int{
	http.StatusBadRequest:            3,  // INVALID_ARGUMENT
	http.StatusUnauthorized:          16, // UNAUTHENTICATED
	http.StatusForbidden:             7,  // PERMISSION_DENIED
	http.StatusNotFound:              5,  // NOT_FOUND
	http.StatusMethodNotAllowed:      12, // UNIMPLEMENTED
	http.StatusRequestTimeout:        4,  // DEADLINE_EXCEEDED
	http.StatusRequestEntityTooLarge: 8,  // RESOURCE_EXHAUSTED
	http.StatusUnsupportedMediaType:  3,  // INVALID_ARGUMENT
	http.StatusUnprocessableEntity:   9,  // FAILED_PRECONDITION
	http.StatusTooManyRequests:       8,  // RESOURCE_EXHAUSTED
	http.StatusInternalServerError:   13, // INTERNAL
	http.StatusServiceUnavailable:    14, // UNAVAILABLE
}

// vaultErrorBody is the error body of the vault service.
type vaultErrorBody struct {
	Error vaultError `json:"error"`
}

type vaultError struct {
	GRPCCode   int          `json:"grpc_code"`
	HTTPCode   int          `json:"http_code"`
	HTTPStatus string       `json:"http_status"` // the reason phrase
	Message    string       `json:"message"`
	Details    []itemDetail `json:"details"`
}

// replyVault gives a problem the shape {"error": {...}}.
func replyVault(p problem) response {
	status, message := p.answer(), p.text()
	if p.kind == invalid {
		status = http.StatusBadRequest
		for _, d := range p.details { // a body that was cut off
			offset, _ := d.Loc[len(d.Loc)-1].(int)
			p.items = append(p.items, itemDetail{Reason: reasonJSON, Offset: &offset, text: "The body did not arrive to its end."})
		}
	}
	if len(p.items) > 0 {
		message = messageOf(p.items)
	}
	details := p.items
	if details == nil {
		details = []itemDetail{}
	}
	body := vaultErrorBody{vaultError{grpcCodes[status], status, http.StatusText(status), message, details}}
	return response{status: status, body: mustJSON(body)}
}

// messageOf is the first problem in words, and how many there are.
func messageOf(items []itemDetail) string {
	message := items[0].text
	if items[0].Index != nil {
		message = fmt.Sprintf("Item %d: %s", *items[0].Index, message)
	}
	switch more := len(items) - 1; more {
	case 0:
	case 1:
		message += " There is 1 more problem: see details."
	default:
		message += fmt.Sprintf(" There are %d more problems: see details.", more)
	}
	return message
}
