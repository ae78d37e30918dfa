resource "corral_cluster" "web" {
  name                = "web"
  connection_ref      = "main"
  region              = "hel1"
  kubernetes_version  = "1.34"
  deletion_protection = true

  node_pools = [
    { name = "general", machine_type = "cpx31", minimum = 1, maximum = 3 },
    { name = "burst", machine_type = "cpx41", maximum = 10 },
  ]
}
