module github.com/seed-6363c74e/mortise/audiosearch/onnx

go 1.26.0

require (
	github.com/seed-6363c74e/mortise v0.1.0
	github.com/stretchr/testify v1.12.1
	github.com/yalue/onnxruntime_go v1.27.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/seed-6363c74e/mortise => ../../
