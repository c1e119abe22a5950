// Reads manifests from standard input, separated by lines of "---", into the types of Kubernetes and of the
// Prometheus Operator. Fails at a field that a type does not have, at a value of another kind, and at a field that is
// there twice.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func object(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "apps/v1 Deployment":
		return new(apps.Deployment)
	case "apps/v1 StatefulSet":
		return new(apps.StatefulSet)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return new(autoscaling.HorizontalPodAutoscaler)
	case "monitoring.coreos.com/v1 PrometheusRule":
		return new(monitoring.PrometheusRule)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return new(monitoring.ServiceMonitor)
	case "networking.k8s.io/v1 Ingress":
		return new(networking.Ingress)
	case "networking.k8s.io/v1 NetworkPolicy":
		return new(networking.NetworkPolicy)
	case "policy/v1 PodDisruptionBudget":
		return new(policy.PodDisruptionBudget)
	case "v1 ConfigMap":
		return new(core.ConfigMap)
	case "v1 Pod":
		return new(core.Pod)
	case "v1 Secret":
		return new(core.Secret)
	case "v1 Service":
		return new(core.Service)
	case "v1 ServiceAccount":
		return new(core.ServiceAccount)
	}
	return nil
}

func check(manifest string) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(manifest), &head); err != nil {
		return err
	}
	into := object(head.APIVersion, head.Kind)
	if into == nil {
		return fmt.Errorf("%s %s: not known here", head.APIVersion, head.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(manifest), into); err != nil {
		return fmt.Errorf("%s: %w", head.Kind, err)
	}
	return nil
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	count, failed := 0, false
	for _, manifest := range strings.Split("\n"+string(text), "\n---\n") {
		if strings.TrimSpace(manifest) == "" {
			continue
		}
		count++
		if err := check(manifest); err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
	}
	if failed || count == 0 {
		os.Exit(1)
	}
	fmt.Println(count)
}
