resource "corral_service_account" "ci" {
  name      = "ci"
  role      = "member"
  narrowing = { clusters = ["ci-*"], actions = ["read", "change"] }
}
