data "corral_operations" "web" {
  target = "web"
  states = ["failed"]
}
