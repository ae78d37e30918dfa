// SPDX-License-Identifier: Apache-2.0

// The provider of Terraform and OpenTofu for Corral.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"corral.dev/terraform-provider-corral/internal/provider"
)

// version is set when a release is built.
var version = "dev"

func main() {
	var debug bool
	flag.BoolVar(&debug, "debug", false, "wait for a debugger")
	flag.Parse()

	options := providerserver.ServeOpts{Address: "registry.terraform.io/corral/corral", Debug: debug}
	if err := providerserver.Serve(context.Background(), provider.New(version), options); err != nil {
		log.Fatal(err)
	}
}
