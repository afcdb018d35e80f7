// Package onnx is a [sound.Scorer] of a model in an ONNX file, which ONNX Runtime
// (https://onnxruntime.ai) runs in this process, on its processors. Package inference says
// which models are recognized, and how others are described.
//
// # What is needed
//
// ONNX Runtime's shared library, 1.24 or newer. Nothing else of it: no headers, no
// installation. The easiest way to a copy is npm:
//
//	npm pack onnxruntime-node@1.30.0
//	tar xzf onnxruntime-node-1.30.0.tgz package/bin
//
// Then it is package/bin/napi-v6/linux/x64/libonnxruntime.so.1, or that of another system
// beside it. The archives of https://github.com/microsoft/onnxruntime/releases have it in
// lib. [Options].Library names it, else the environment variable MORTISE_ONNXRUNTIME. If
// neither does, these places are searched:
//
//   - the folder of the program, and lib in it;
//   - those of LD_LIBRARY_PATH (DYLD_LIBRARY_PATH, PATH) and those where systems keep
//     libraries;
//   - node_modules/onnxruntime-node, in the working directory, in that of the program and
//     in all above them;
//   - wherever the system's loader looks.
//
// A library is a program: whoever can write to these places runs code in this process. A
// program that runs where others can write names its library.
//
// The program must be built with cgo, that is with a C compiler. Without it the package
// compiles, and [New] and [Open] are an error that says so.
//
// # One library a process
//
// The library is loaded once and stays loaded until the process ends. It is told to log
// nothing and to send nothing to anybody. If another package of the program has set up
// github.com/yalue/onnxruntime_go before, that library is used, and it must not be
// destroyed while a Scorer is open. Programs that do both must not do it at the same time.
//
// # Memory and processors
//
// A model is read whole and kept in memory once; its file may be exchanged or deleted under
// a running process, which changes nothing there. [Options].Threads and Options.Parallel
// share the processors that the process may use; each run at a time takes memory for
// intermediate results, which is kept for the next run.
//
// # Models from elsewhere
//
// A file is looked through before ONNX Runtime sees it: broken or cut files are refused
// here, and so are those that keep their weights in other files, whose names could lead
// anywhere, those that nest graphs or functions too deeply, those that promise more numbers
// than they have, and those whose functions would become very many nodes. Then the model
// runs once, on silence, in [New]: what it answers must be as it says, and scores. A model
// that does not answer within 5 minutes is ended and refused.
//
// That does not make a model harmless that was written to do harm. It can still take all
// memory, or be slow to load. It can end the process: ONNX Runtime 1.30 lets a division of
// the smallest 64-bit integer by -1 (Div, Mod) do so, and a frame length of 0 (STFT). Take
// models from people whom you trust, or run them on an inference server.
package onnx
