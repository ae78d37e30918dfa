-- For lists of a type.
CREATE INDEX CONCURRENTLY "dns_rrset_of_type" ON "dns_rrset"("zone_id", "owner_label", "type", (("name" || '/' || "type") COLLATE "C"));
