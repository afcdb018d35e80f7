// Package inference makes a [sound.Scorer] of a neural network that something else
// runs: package onnx in this process, package oip on an inference server, or a [Runner] of
// your own. It knows what networks want to hear and what their answers mean; a Runner only
// moves numbers.
//
// [Recognize] tells from the inputs and outputs of a network how it is used. It knows two
// networks by themselves:
//
//   - The audio spectrogram transformer (Gong, Chung, Glass: "AST: Audio Spectrogram
//     Transformer", 2021) as Hugging Face exports it: input_values [batch,1024,128] to
//     logits [batch,527]. Its features are those of package astfeatures, of 10.24 s of
//     sound; its scores are the sigmoid of the logits, since several sounds can be heard
//     at once; its classes are AudioSet's 527.
//   - YAMNet (Plakal and Ellis, TensorFlow Model Garden, 2020): 15,600 samples, which are
//     0.975 s at 16 kHz, to [1,521] scores. Its classes are 521 of AudioSet's.
//
// Any other network that takes a waveform, or the transformer's features, is used as a
// [Description] says, which is a JSON file beside the model, or text in its metadata.
// What is not recognized is refused, with the shapes that were found and those that were
// wanted.
package inference
