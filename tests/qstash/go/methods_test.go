package clients

import (
	"embed"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/upstash/qstash-go"
)

//go:embed *_test.go
var sources embed.FS

// methodsOf returns the methods of the client and of its parts, such as Publish and Messages.Get.
func methodsOf(kind reflect.Type, prefix string) (found []string) {
	for i := 0; i < kind.NumMethod(); i++ {
		method := kind.Method(i)
		if method.Type.NumIn() == 1 && method.Type.NumOut() == 1 && method.Type.Out(0).Kind() == reflect.Ptr {
			found = append(found, methodsOf(method.Type.Out(0), method.Name+".")...)
		} else {
			found = append(found, prefix+method.Name)
		}
	}
	return found
}

// calls returns the methods that the tests in these files call.
func calls(t *testing.T) map[string]bool {
	pattern := regexp.MustCompile(`\bclient\.(\w+)\((?:\)\.(\w+)\()?`)
	found := map[string]bool{}
	files, err := sources.ReadDir(".")
	ok(t, err)
	for _, file := range files {
		if file.Name() == "methods_test.go" {
			continue
		}
		text, err := sources.ReadFile(file.Name())
		ok(t, err)
		for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
			found[strings.TrimSuffix(match[1]+"."+match[2], ".")] = true
		}
		if strings.Contains(string(text), ").Verify(") {
			found["Receiver.Verify"] = true
		}
	}
	return found
}

func TestEachMethodIsCalled(t *testing.T) {
	methods := append(methodsOf(reflect.TypeOf(client), ""), methodsOf(reflect.TypeOf(&qstash.Receiver{}), "Receiver.")...)
	sort.Strings(methods)
	exists, called := map[string]bool{}, calls(t)
	for _, method := range methods {
		exists[method] = true
		if !called[method] {
			t.Errorf("no test calls %s", method)
		}
	}
	for _, method := range []string{"Publish", "BatchJSON", "Messages.CancelAll", "Receiver.Verify"} {
		if !exists[method] {
			t.Errorf("%s is not found", method)
		}
	}
}
