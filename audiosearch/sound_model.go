package audiosearch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// sameModel reports whether a scorer has said the same of its model twice.
func sameModel(m, o *sound.Model) bool {
	return m.ID == o.ID && m.Family == o.Family && m.SampleRate == o.SampleRate && m.Window == o.Window &&
		m.Hop == o.Hop && m.Batch == o.Batch && slices.Equal(m.Classes, o.Classes)
}

// sameScores reports whether scores by one are scores by the other.
func sameScores(m, o *sound.Model) bool {
	same := *m
	same.Batch = o.Batch
	return sameModel(&same, o)
}

// lasting returns how long so many samples of a model's last.
func lasting(m *sound.Model, samples int64) time.Duration {
	rate := int64(m.SampleRate)
	whole, rest := samples/rate, samples%rate
	return time.Duration(whole)*time.Second + time.Duration(rest*int64(time.Second)/rate)
}

// classNamesOf lists classes for a message.
func classNamesOf(classes []sound.Class) string {
	const most = 40
	names := make([]string, 0, most+1)
	for i, c := range classes {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(classes)-most))
			break
		}
		names = append(names, string(c))
	}
	slices.Sort(names[:min(len(names), most)])
	return strings.Join(names, "; ") // names may have commas
}
