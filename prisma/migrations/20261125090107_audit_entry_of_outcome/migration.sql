-- For a filter of the audit log.
CREATE INDEX CONCURRENTLY "audit_entry_of_outcome" ON "audit_entry"("team_id", (CASE WHEN "action" = 'service_account.refuse_exchange' THEN 'refused'
  WHEN "action" <> 'kubeconfig.issue' OR "detail"->'issued' = 'true'::jsonb THEN 'completed'
  WHEN "detail"->'issued' = 'false'::jsonb THEN 'refused' ELSE 'pending' END), "created_at", "id");
