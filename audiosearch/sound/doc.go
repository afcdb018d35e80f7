// Package sound is what plugs into package audiosearch: scorers, media and files. It is
// for those who write one. A program that uses the ones that there are passes them to
// audiosearch.New, and needs little of it: a [Class] to search for, and [FirstMedia].
//
// A [Scorer] gives each clip of a sound a score for each [Class] that its [Model]
// predicts. [Batching] puts the clips of several videos into one call, and [Nearest]
// finds the class that a misspelt name means. A [Media] decodes files, and [FirstMedia]
// is several of them. A [Files] says where the bytes of a video are; [SameFiles] is one
// that notices when another file is put there.
//
// Whether to try again, and what to tell who searches, depends on the error: see
// [BadMedia], [Incomplete], [ErrFormat], [Permanent] and [RetryAfter]. Other errors are
// tried again after a while.
//
// Package audiosearchtest has a suite for scorers, RunScorer, and one for media that read
// WAV files, among others or alone, RunMedia. Packages signal, onnx and oip are scorers,
// packages wav and ffmpeg are media.
package sound
