-- The order of lists: pages are read from it, whatever the collation of the database.
CREATE INDEX CONCURRENTLY "dns_rrset_of_id" ON "dns_rrset"("zone_id", "owner_label", (("name" || '/' || "type") COLLATE "C"));
