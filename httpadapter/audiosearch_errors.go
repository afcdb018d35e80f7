package httpadapter

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

var audioSearchErrors = errorTable{classify: audioSearchFailures.or(refusedSearch), reply: replyDetail}

var audioSearchFailures = append(failures{
	{audiosearch.ErrDatasetNotFound, problem{kind: notFound, message: "Dataset not found"}},
	{audiosearch.ErrRunNotFound, problem{kind: notFound, message: "Run not found"}},
	{audiosearch.ErrFinished, problem{kind: domain, status: http.StatusConflict,
		message: "The run has ended, so there is nothing to cancel."}},
	{audiosearch.ErrTooManyRuns, problem{kind: domain, status: http.StatusTooManyRequests, header: afterSomeRuns,
		message: "Too many searches of your organization have not ended. Start this one again when some have."}},
}, commonFailures...)

// afterSomeRuns says when to come back, in seconds: by then a worker has usually ended
// some runs.
var afterSomeRuns = http.Header{"Retry-After": {"10"}}

// searchFields: the fields of a search's body that the service may refuse. It takes every
// min_score that the adapter does.
var searchFields = []string{"dataset_id", "audio_class", "limit", "offset", "metadata_filters", "skip_moderation"}

// refusedSearch answers what only the service can know to be wrong: a class that its
// scorer cannot find, a key that no video has.
var refusedSearch = refusals(
	func(one mortise.Problem) (loc []any, typ, msg string) {
		if len(one.Path) == 0 || !slices.Contains(searchFields, one.Path[0].Field) {
			return nil, "", ""
		}
		loc = locOf("body", one.Path)
		if one.Kind == "" {
			return loc, "value_error", msgValue + one.Message
		}
		return loc, string(one.Kind), capitalized(one.Message)
	})

// capitalized is a text of the service, which begins with a small ASCII letter, as a
// sentence of its own.
func capitalized(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
