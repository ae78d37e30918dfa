-- contract: unused since 0.2.0: lists and quotas count the record sets themselves.
DROP TRIGGER "dns_rrset_counted_made" ON "dns_rrset";
DROP TRIGGER "dns_rrset_counted_changed" ON "dns_rrset";
DROP FUNCTION "dns_rrset_keep_counts"();
DROP FUNCTION "dns_rrset_recount"();
DROP FUNCTION "dns_rrset_labels"(TEXT);
DROP FUNCTION "dns_rrset_label_text"(TEXT);
DROP TABLE "dns_rrset_count";
DROP TABLE "dns_rrset_label";
DROP TABLE "dns_rrset_label_count";
-- `dns_rrset_of_id` finds the sets of an owner, in the order of most lists. Other orders and filters are applied to these.
DROP INDEX "dns_rrset_of_type";
DROP INDEX "dns_rrset_of_name";
DROP INDEX "dns_rrset_of_creation";
