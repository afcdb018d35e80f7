// Package oip makes a [sound.Scorer] of a model on an inference server that speaks
// the Open Inference Protocol, version 2, over HTTP: NVIDIA Triton, KServe, OpenVINO
// Model Server, MLServer. What the model hears is prepared here, by package inference;
// the server only computes. gRPC is not spoken.
//
//	scorer, err := oip.New("http://gpu:8000/v2/models/ast", nil)
//
// Which models can be used, and how others are described, is said in package inference.
// The protocol's metadata tell inputs and outputs, but no description, so that of a model
// which is not recognized by itself is in [Options].
//
// # Serving a model
//
// Triton serves ast/1/model.onnx of a folder, at http://HOST:8000/v2/models/ast:
//
//	docker run --rm -p8000:8000 -v$PWD/models:/models nvcr.io/nvidia/tritonserver:<yy.mm>-py3 \
//	  tritonserver --model-repository=/models
//
// OpenVINO Model Server serves models/ast/1/model.onnx, at the same address. It takes
// binary tensors, but does not say so: set [Options].Encoding.
//
//	docker run --rm -v $PWD/models:/models -p 8000:8000 openvino/model_server:latest \
//	  --model_path /models/ast --model_name ast --rest_port 8000
//
// KServe serves what an InferenceService names. Its predictor has
//
//	model: {protocolVersion: v2, modelFormat: {name: onnx}, storageUri: "gs://BUCKET/FOLDER"}
//
// and its gateway tells services apart by the Host header, which [Options].Header may
// have.
//
// These lines are from the servers' documentation. This package is tested against a
// protocol server of its own, not against these programs.
//
// # Versions
//
// The [sound.Model]'s ID has the name and the version of the model, and nothing of
// the server's address. If the address names no version, the greatest number among those
// that the metadata list is taken (the last one, if they are not all numbers), and asked
// for by that version from then on, so that all scores are by it. A new version on the
// server has another ID. An answer that names another model or version than the one that
// was described has no scores. A server without versions cannot be looked into: if its
// weights change, change [Options].Weights.
//
// # Failures
//
// What a server says is bounded and checked to the last byte. Short failures are tried
// again at once ([Options].Retries). If that does not help, a server that is away,
// overloaded or too slow gives an error with [sound.RetryAfter]: as long as its
// Retry-After says, at least 5 s and at most 10 minutes, or about 20 s. A model that is
// not there (404) may be loading, so it is not permanent. A refused request is
// [sound.Permanent], and so are refused credentials, and a model that cannot be
// used.
package oip
