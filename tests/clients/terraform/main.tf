terraform {
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.68"
    }
  }
}

variable "dns_token" {
  type      = string
  sensitive = true
}

provider "hcloud" {
  alias    = "dns"
  endpoint = "https://dns.example.org/v1"
  token    = var.dns_token
}

resource "hcloud_zone_rrset" "www" {
  provider = hcloud.dns
  zone     = "example.org"
  name     = "www.acme"
  type     = "A"
  records  = [{ value = "192.0.2.10" }]
}
