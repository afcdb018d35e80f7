package river

import (
	"errors"
	"net/url"

	"github.com/seed-6363c74e/mortise"
)

// Args are the arguments of a job, as River's tables and its UI have them: they name the
// work and carry nothing of it.
type Args struct {
	JobKind      string `json:"kind" river:"unique"`
	Organization string `json:"organization" river:"unique"`
	ID           string `json:"id" river:"unique"`
	Trace        string `json:"trace,omitempty"` // a form, as of HTTP
}

// Kind implements River's JobArgs. All jobs are of one kind of River's, so that whichever
// client leads knows each of them: a leader throws away the stuck jobs of kinds that it does
// not know.
func (Args) Kind() string { return "mortise" }

func argsOf(j *mortise.Job) Args {
	a := Args{JobKind: j.Kind, Organization: j.Organization, ID: j.ID}
	if len(j.Trace) > 0 {
		form := make(url.Values, len(j.Trace))
		for k, v := range j.Trace {
			form.Set(k, v)
		}
		a.Trace = form.Encode() // keeps all bytes, which JSON would not
	}
	return a
}

// job returns the job whose arguments they are.
func (a *Args) job() (j mortise.Job, err error) {
	j = mortise.Job{Kind: a.JobKind, Organization: a.Organization, ID: a.ID}
	if a.Trace != "" {
		form, err := url.ParseQuery(a.Trace)
		if err != nil {
			return j, errors.New("river: the trace of a job is no form")
		}
		j.Trace = make(map[string]string, len(form))
		for k := range form {
			j.Trace[k] = form.Get(k)
		}
	}
	return j, j.Check()
}
