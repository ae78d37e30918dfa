resource "corral_adopted_server" "worker" {
  connection_ref = "main"
  server_id      = 4711
  server_type    = "cx22"
  location       = "hel1"
  architecture   = "amd64"
  server_kind    = "cloud"
  acknowledge    = "WIPE" # all data on its disk is destroyed
}
