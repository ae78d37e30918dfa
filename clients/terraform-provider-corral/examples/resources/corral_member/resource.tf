resource "corral_member" "ada" {
  member_id = 12
  role      = "admin"
}
