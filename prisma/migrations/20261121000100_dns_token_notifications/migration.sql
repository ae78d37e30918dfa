-- Gateways keep tokens in memory for a moment. Whoever changes one, by whatever means, tells them at commit.
CREATE FUNCTION "dns_token_notify"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('dns_token_changed', encode(OLD."hash", 'hex'));
  RETURN NULL;
END;
$$;

CREATE TRIGGER "dns_token_changed"
AFTER UPDATE OF "revoked_at", "expires_at", "scopes", "within_name", "within_types", "team_id" OR DELETE ON "dns_token"
FOR EACH ROW EXECUTE FUNCTION "dns_token_notify"();
