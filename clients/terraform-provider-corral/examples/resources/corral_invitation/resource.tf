resource "corral_invitation" "ada" {
  email = "ada@example.org"
  role  = "member"
}
