data "corral_catalogue" "main" {
  connection_ref = "main"
}

output "newest" {
  value = data.corral_catalogue.main.kubernetes_versions[0].version
}
