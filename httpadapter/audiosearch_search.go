package httpadapter

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// search starts a run. It is searchAudioSound.
func (a *audioSearchAdapter) search(c *call) response {
	var d decoder
	var q audiosearch.Query
	if body, ok := d.body(c.body); ok {
		q = a.query(c.r.Context(), &body)
	}
	if len(d.details) > 0 {
		return *c.refuse(problem{kind: invalid, details: d.details})
	}
	if failed := a.authorize(c, q.Dataset); failed != nil {
		return *failed
	}
	run, err := a.service.Start(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), q)
	if err != nil {
		return a.h.fail(c, err)
	}
	b := strconv.AppendInt([]byte(`{"run_id":`), run.ID, 10)
	return response{status: http.StatusOK, body: append(b, '}')}
}

// maxOffset is beyond any ranking, and an int on every machine.
const maxOffset = 1<<31 - 1

// query reads the body of a search. A field with a problem is left at its zero value.
func (a *audioSearchAdapter) query(ctx context.Context, body *object) audiosearch.Query {
	var q audiosearch.Query
	q.Dataset, _ = body.text("dataset_id", required, textRule{})
	q.Class = a.class(ctx, body)
	most := int64(a.service.Limits().Results)
	limit, _ := body.integer("limit", optional, 0, 1, most) // 0: the service's default
	offset, _ := body.integer("offset", optional, 0, 0, math.MaxInt64)
	q.Limit, q.Offset = int(limit), int(min(offset, maxOffset))
	body.list("metadata_filters", optional, listRule{max: a.service.Limits().Filters}, func(_ int, item *object) {
		q.Filters = append(q.Filters, a.filter(item))
	})
	q.SkipModeration, _ = body.boolean("skip_moderation", optional, false)
	if a.minScore {
		q.MinScore, _ = body.number("min_score", optional, 0, 0, 1)
	}
	return q
}

// class reads audio_class. A name that is not known, because no scorer has answered yet, is
// left to the service.
func (a *audioSearchAdapter) class(ctx context.Context, body *object) sound.Class {
	const field = "audio_class"
	v, ok := body.field(field, required)
	if !ok {
		return ""
	}
	var class sound.Class
	if v.Kind() == strictjson.String {
		class = sound.Class(v.Text())
	}
	if a.known[class] {
		return class
	}
	values := a.vocabulary
	switch own, err := a.predicted(ctx); {
	case err != nil && class.Valid():
		return class
	case own != nil:
		values = own
	}
	if values.known[class] {
		return class
	}
	body.refuse(field, "enum", values.refusal(string(class)))
	return ""
}

// filter reads a metadata filter. Whether its value is a number is known only with the
// operator, which is why that comes last.
func (a *audioSearchAdapter) filter(item *object) metadata.Filter {
	var f metadata.Filter
	f.Key, _ = a.filterText(item, "key")
	value, valid := a.filterText(item, "value")
	f.Value = value
	op, _ := item.enum("op", optional, string(metadata.OpEqual), a.ops)
	f.Op = metadata.Op(op)
	if valid && f.Op.Numeric() && f.Check() != nil {
		item.refuse("value", string(audiosearch.ProblemNotANumber), "Must be a number, because the operator is "+op)
	}
	return f
}

// filterText reads the key or the value of a filter. The bound is one of bytes, and the
// message says so.
func (a *audioSearchAdapter) filterText(item *object, name string) (text string, valid bool) {
	text, valid = item.text(name, required, textRule{})
	if len(text) > metadata.MaxFilterBytes {
		item.refuse(name, string(audiosearch.ProblemTooLong), fmt.Sprintf("String should have at most %d bytes", metadata.MaxFilterBytes))
		return "", false
	}
	return text, valid
}
