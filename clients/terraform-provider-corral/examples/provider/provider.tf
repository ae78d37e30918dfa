terraform {
  required_providers {
    corral = {
      source = "corral/corral"
    }
  }
}

# The token of a service account is in CORRAL_TOKEN.
provider "corral" {
  endpoint = "https://clusters.example.org"
  team     = "acme"
}
