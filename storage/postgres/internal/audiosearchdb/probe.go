package audiosearchdb

// Probe has statements whose plans the tests of the whole look at. Nothing else uses it.
var Probe = struct{ VocabularyNames string }{vocabularyNames}
