-- For lists in the order of creation. Sets of the same moment are sorted when they are read.
CREATE INDEX CONCURRENTLY "dns_rrset_of_creation" ON "dns_rrset"("zone_id", "owner_label", "first_seen_at");
