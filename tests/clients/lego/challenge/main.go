// Writes and removes the record of a DNS-01 challenge as lego does when it has its certificate issued, and as Traefik and
// others do that contain lego. Prints one line of JSON.
//
//	HETZNER_API_TOKEN=… challenge present|cleanup <domain> <host:port of a name server>
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/providers/dns/hetzner"
)

// What an authority would have sent, with the thumbprint of an account's key.
const keyAuth = "token.thumbprint"

func main() {
	if len(os.Args) != 4 {
		fail("usage: challenge present|cleanup <domain> <host:port of a name server>", nil)
	}
	step, domain, nameServer := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	options := dns01.NewOptions()
	options.RecursiveNameservers = []string{nameServer}
	dns01.SetDefaultClient(dns01.NewClient(options))
	provider, err := hetzner.NewDNSProvider()
	if err != nil {
		fail("provider", err)
	}
	if step == "present" {
		err = provider.Present(ctx, domain, "token", keyAuth)
	} else {
		err = provider.CleanUp(ctx, domain, "token", keyAuth)
	}
	if err != nil {
		fail(step, err)
	}
	info := dns01.GetChallengeInfo(ctx, domain, keyAuth)
	line, err := json.Marshal(map[string]any{"step": step, "name": info.EffectiveFQDN, "value": info.Value})
	if err != nil {
		fail(step, err)
	}
	fmt.Println(string(line))
}

func fail(step string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", step, err)
	os.Exit(1)
}
