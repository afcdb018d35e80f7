package mortise_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
)

func TestJobCheck(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		change func(j *mortise.Job)
		says   string // what the error contains; "": there is none
	}{
		"plain":                 {func(*mortise.Job) {}, ""},
		"every letter of kinds": {func(j *mortise.Job) { j.Kind = "a-z_09" }, ""},
		"longest kind":          {func(j *mortise.Job) { j.Kind = long[:64] }, ""},
		"no kind":               {func(j *mortise.Job) { j.Kind = "" }, "kind"},
		"long kind":             {func(j *mortise.Job) { j.Kind = long[:65] }, "kind"},
		"capital in the kind":   {func(j *mortise.Job) { j.Kind = "Docs" }, "kind"},
		"dot in the kind":       {func(j *mortise.Job) { j.Kind = "a.b" }, "kind"},

		"longest organization":      {func(j *mortise.Job) { j.Organization = long[:255] }, ""},
		"any text as organization":  {func(j *mortise.Job) { j.Organization = "=\x01\u00e4 /" }, ""},
		"zero byte in organization": {func(j *mortise.Job) { j.Organization = "a\x00" }, "organization"},
		"no UTF-8 as organization":  {func(j *mortise.Job) { j.Organization = "\xff" }, "organization"},
		"no organization":           {func(j *mortise.Job) { j.Organization = "" }, "organization"},
		"long organization":         {func(j *mortise.Job) { j.Organization = long }, "organization"},
		"umlaut over the limit": {func(j *mortise.Job) {
			j.Organization = long[:254] + "\u00e4"
		}, "255"},

		"every letter of IDs": {func(j *mortise.Job) { j.ID = "AZ-az_09" }, ""},
		"longest ID":          {func(j *mortise.Job) { j.ID = long[:255] }, ""},
		"no ID":               {func(j *mortise.Job) { j.ID = "" }, "ID"},
		"long ID":             {func(j *mortise.Job) { j.ID = long }, "ID"},
		"slash in the ID":     {func(j *mortise.Job) { j.ID = "a/b" }, "ID"},
		"umlaut in the ID":    {func(j *mortise.Job) { j.ID = "\u00e4" }, "ID"},
		"zero byte in the ID": {func(j *mortise.Job) { j.ID = "a\x00" }, "ID"},

		"empty trace":   {func(j *mortise.Job) { j.Trace = map[string]string{} }, ""},
		"longest trace": {func(j *mortise.Job) { j.Trace = trace(1024) }, ""},
		"long trace":    {func(j *mortise.Job) { j.Trace = trace(1025) }, "trace"},
	} {
		t.Run(name, func(t *testing.T) {
			j := mortise.Job{Kind: "docs", Organization: "acme", ID: "one"}
			c.change(&j)
			err := j.Check()
			if c.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Less(t, len(err.Error()), 250, "the length of the message")
		})
	}
}

// trace returns one of so many bytes, over two keys.
func trace(size int) map[string]string {
	return map[string]string{"a": strings.Repeat("x", size-10), "bb": strings.Repeat("y", 7)}
}

// TestJobString: no two jobs have one.
func TestJobString(t *testing.T) {
	assert.Equal(t, `docs/"acme"/one`, mortise.Job{Kind: "docs", Organization: "acme", ID: "one"}.String())
	a := mortise.Job{Kind: "docs", Organization: `x"/y`, ID: "z"}
	b := mortise.Job{Kind: "docs", Organization: "x", ID: `y"/z`}
	assert.NotEqual(t, a.String(), b.String())
}
