# Many record sets beside the one of the page, all of which change at once.
variable "count_of_sets" { type = number }
variable "ttl" { type = number }
variable "value" { type = string }

resource "hcloud_zone_rrset" "many" {
  count    = var.count_of_sets
  provider = hcloud.dns
  zone     = "example.org"
  name     = format("tf%03d.acme", count.index)
  type     = "A"
  ttl      = var.ttl
  labels   = { ttl = tostring(var.ttl) }
  records  = [{ value = var.value }]
}
