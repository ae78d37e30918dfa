package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/webhook"
)

// The webhook in a process of its own.
type webhookProvider struct {
	provider.Provider
	command *exec.Cmd
}

// Starts the webhook with the variables of the chart's values, except the ones that name a Secret or a file in the pod.
func startWebhook(ctx context.Context, config *externaldns.Config, values chartValues) (*webhookProvider, error) {
	port, healthPort := freePort(), freePort()
	command := exec.Command("external-dns-hetzner-webhook")
	command.Env = os.Environ()
	for _, each := range values.Provider.Webhook.Env {
		if each.Value != "" && each.Name != "SSL_CERT_FILE" {
			command.Env = append(command.Env, each.Name+"="+each.Value)
		}
	}
	command.Env = append(command.Env,
		"HETZNER_API_KEY="+os.Getenv("HCLOUD_TOKEN"),
		fmt.Sprintf("WEBHOOK_PORT=%d", port), "METRICS_HOST=127.0.0.1", fmt.Sprintf("METRICS_PORT=%d", healthPort))
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	started := &webhookProvider{command: command}
	if err := untilReady(fmt.Sprintf("http://127.0.0.1:%d/ready", healthPort)); err != nil {
		started.stop()
		return nil, err
	}
	config.WebhookProviderURL = fmt.Sprintf("http://localhost:%d", port)
	connected, err := webhook.New(ctx, config, nil)
	if err != nil {
		started.stop()
		return nil, err
	}
	started.Provider = connected
	return started, nil
}

func (w *webhookProvider) stop() {
	_ = w.command.Process.Kill()
	_ = w.command.Wait()
}

func untilReady(url string) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("it is not ready after a minute")
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("port", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
