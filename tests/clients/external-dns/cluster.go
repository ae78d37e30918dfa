package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/provider/webhook"
	"sigs.k8s.io/external-dns/registry/txt"
	"sigs.k8s.io/external-dns/source"
	"sigs.k8s.io/external-dns/source/wrappers"
)

// ExternalDNS with its sources, its client of a webhook, its registry and its plan. Its package `controller` has the providers of all
// clouds, which a Go module proxy may not have, so the loop is ours.
func follow(ctx context.Context, config *externaldns.Config, flags []string) error {
	if err := config.ParseFlags(flags); err != nil {
		return err
	}
	sources, err := source.NewSourceConfig(config)
	if err != nil {
		return err
	}
	cluster, err := wrappers.Build(ctx, sources)
	if err != nil {
		return err
	}
	dns, err := webhook.New(ctx, config, nil)
	if err != nil {
		return err
	}
	owned, err := txt.New(config, dns)
	if err != nil {
		return err
	}
	for ; ; time.Sleep(time.Second) {
		wanted, err := cluster.Endpoints(ctx)
		if err == nil {
			err = apply(ctx, config, owned, wanted)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "external-dns: %v\n", err)
		}
	}
}
