package httpadapter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// The document follows the options that a service is mounted with.
func ExampleOpenAPI() {
	db, _ := memory.Open(context.Background(), nil)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Keys: db.Trigger().Keys}, nil)
	if err != nil {
		log.Fatal(err)
	}
	triggers, err := httpadapter.NewTrigger(service, httpadapter.Bearer(httpadapter.TriggerKeys(service)), nil)
	if err != nil {
		log.Fatal(err)
	}

	document, err := httpadapter.OpenAPI([]string{"https://api.example.com", "https://sandbox.example.com"}, triggers)
	if err != nil {
		log.Fatal(err)
	}
	var d struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(document, &d); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.OpenAPI, d.Servers)
	for path, methods := range d.Paths {
		for method, operation := range methods {
			fmt.Println(method, path, operation.OperationID)
		}
	}
	// Output:
	// 3.1.0 [{https://api.example.com} {https://sandbox.example.com}]
	// post /triggers submitApiTrigger
}
