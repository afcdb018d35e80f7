package onnx

import "github.com/seed-6363c74e/mortise/internal/release"

// A core module of another minor version does not build with this module.
const _ = release.V0_1
