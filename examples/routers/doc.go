// Package routers shows how a service is mounted on the routers that Go programs use. A
// service is an [net/http.Handler] whose paths begin at its root, so each mount is: these
// paths, with the prefix stripped, to that handler.
//
// A prefix is "" or a clean path without a slash at its end, as "/internal".
//
// What the routers do before the service sees a request is their own: http.ServeMux and
// gorilla/mux redirect paths like "//triggers" to the clean path; the others answer 404
// in their own words, or hand the path over, and then the service answers 404.
package routers
