// Package astfeatures computes what the Audio Spectrogram Transformer sees: log-mel
// filterbank features of sound at 16 kHz, as its authors and ASTFeatureExtractor of Hugging
// Face compute them.
//
// [Extract] turns up to 10.24 s of samples into a spectrogram of [Frames] rows of [Bins]
// columns. A row is what was heard in 25 ms, and the next one begins 10 ms later. The last
// rows of a shorter clip are padding. Every value is normalised with the mean and the
// deviation of AudioSet, and finite.
//
// # The features exactly
//
// Frames of 400 samples begin each 160 samples, as long as a whole frame is left. Of each
// frame: take away its mean; pre-emphasis, x[i] - 0.97 x[i-1], where x[-1] is x[0]; a
// symmetric Hann window; zeros up to 512 samples; the power spectrum; 128 triangles that
// overlap by half, evenly spaced from 20 Hz to 8 kHz in mel, 1127 ln(1+f/700); the natural
// logarithm, of 2^-23 at least. Samples are in [-1,1], and there is no dither. Rows are cut
// or padded with zeros to 1024, and all cells x, padding too, become
// (x + 4.2677393) / (2 * 4.5689974).
//
// In between everything is float64, so that the result is nearer to the exact value than
// torchaudio's, which is float32. A few triangles of the lowest columns are so narrow that
// no frequency of the spectrum falls into them: column 3 is always the floor, -1.2775939.
//
// Sources: Gong, Chung and Glass, "AST: Audio Spectrogram Transformer", Interspeech 2021;
// feature_extraction_audio_spectrogram_transformer.py of Hugging Face's transformers;
// compliance/kaldi.py of torchaudio.
package astfeatures
