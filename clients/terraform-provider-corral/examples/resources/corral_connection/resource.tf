variable "project_token" {
  type      = string
  ephemeral = true
}

resource "corral_connection" "main" {
  ref            = "main"
  name           = "Production"
  cloud_provider = "hcloud"
  token          = var.project_token
  token_version  = 1
}
