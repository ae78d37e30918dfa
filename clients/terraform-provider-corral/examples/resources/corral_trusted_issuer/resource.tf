resource "corral_trusted_issuer" "github" {
  name            = "github"
  issuer          = "https://token.actions.githubusercontent.com"
  audience        = "https://clusters.example.org"
  claims          = { sub = "repo:acme/infra:*", ref = "refs/heads/main" }
  service_account = corral_service_account.ci.name
}
