# Once, where example.com is: _acme-challenge.shop.example.com. CNAME shop.acme.example.org.
export HETZNER_API_TOKEN="$DNS_TOKEN" SSL_CERT_FILE="$PWD/bundle.pem"
lego run --path "$PWD/certificates" --email ops@example.org --accept-tos \
  --dns hetzner --domains shop.example.com
