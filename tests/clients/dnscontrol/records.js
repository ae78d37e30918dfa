D_EXTEND(
  'acme.example.org',
  A('@', '192.0.2.10', TTL(300)),
  A('www', '192.0.2.10', TTL(300)),
  CNAME('docs', 'www.acme.example.org.', TTL(300)),
  TXT('@', 'v=spf1 -all', TTL(3600)),
);
