package audiosearchtest_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

func TestModel(t *testing.T) { audiosearchtest.RunModel(t, faithful.harness(), nil) }

// TestModelMutants: the model finds backends that answer wrongly.
func TestModelMutants(t *testing.T) {
	model := func(t *testing.T, h audiosearchtest.Harness) { audiosearchtest.RunModel(t, h, nil) }
	conformance.ProveModel(t, proof(), model,
		"adds scores to those that are there", "begins anew beyond the end", "compacts scores away", "compares floats", "compares numbers as texts",
		"counts the offset in steps of ten", "counts unscored videos", "counts without filters", "cuts the page and then looks at the least score",
		"deletes all videos", "deletes nothing", "deletes videos that are not there", "does not look at the path", "ends texts at U+0000", "fills the range of segments up",
		"filters by the first metadata", "finds by LIKE", "finds one more than asked for", "folds case", "hides deleted videos only",
		"keeps no zeros", "keeps one scoring a video", "keeps scores beside a problem", "keeps scores in eight bits", "keeps the longer scores",
		"keeps scorings when the path changes", "knows no operator but those with a name", "leaves out what is at the least score", "leaves ties as they come",
		"lets any filter pass a video", "lets what has no key be unequal", "skips the first item of the next page in ListVideos", "lists videos like a dictionary",
		"looks at the first filter", "loses its data", "merges metadata", "misses keys with null", "mixes up the segments of its second chunk", "orders videos like a dictionary",
		"quotes strings", "reads numbers", "reads whatever looks like a number", "refuses and stores", "remembers keys for ever", "removes scorings with every change",
		"returns no rows for what is not scored", "returns rows as columns", "returns unscored videos from the given one on", "returns unscored videos without metadata",
		"scores what is not there", "sorts missing keys", "takes keys for paths", "takes null for a text", "takes problems for scores",
		"changes models whatever is current", "changes to models that lack videos", "counts parts from the given one on",
		"counts those that are not wholly scored", "does not look at the digest of parts", "does not take a question for use",
		"forgets the parts when it stores", "has one current model", "keeps parts when it has stored them", "keeps parts when the path changes",
		"leaves problems out of scorings", "makes do with the parts that are there", "never lets models lack videos", "never removes parts",
		"never removes the scores of replaced models", "remembers for ever that a model was replaced", "removes parts at any time",
		"removes the scores of replaced models at any time", "returns videos in an order of its own", "says how long a part is",
		"sorts classes", "stores every part at the end", "stores parts after a gap", "trims the names of classes",
	)
}
