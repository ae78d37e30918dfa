-- For lists in the order of names, whatever the collation of the database.
CREATE INDEX CONCURRENTLY "dns_rrset_of_name" ON "dns_rrset"("zone_id", "owner_label", "name" COLLATE "C");
