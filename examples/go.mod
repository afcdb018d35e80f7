module github.com/seed-6363c74e/mortise/examples

go 1.26.0

require github.com/seed-6363c74e/mortise v0.1.0

replace github.com/seed-6363c74e/mortise => ../
