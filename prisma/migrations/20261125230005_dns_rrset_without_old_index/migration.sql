-- The others begin with the same columns, and one set is found by the primary key, also by services of the release before.
DROP INDEX CONCURRENTLY "dns_rrset_zone_id_owner_label_name_type_idx";
