resource "corral_service_account_token" "ci" {
  account         = corral_service_account.ci.name
  expires_in_days = 90
}
