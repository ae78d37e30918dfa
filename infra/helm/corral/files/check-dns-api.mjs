// Run by `helm test`: writes, reads and deletes a record set over the DNS API.
const { DNS_URL, READY_URL, DNS_TOKEN, ZONE, TEAM } = process.env;

async function call(method, path, body) {
  const response = await fetch(`${DNS_URL}${path}`, {
    method,
    headers: { authorization: `Bearer ${DNS_TOKEN}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

const ready = await fetch(READY_URL, { signal: AbortSignal.timeout(60_000) });
if (!ready.ok) throw new Error(`The gateway is not ready: ${await ready.text()}`);
console.log('The gateway is ready.');
if (DNS_TOKEN === undefined) {
  console.log('No record set was written: set test.team and test.token.');
} else {
  const name = `helm-test-${Date.now()}.${TEAM}`;
  const value = '"written by helm test"';
  await call('POST', `/zones/${ZONE}/rrsets`, { name, type: 'TXT', ttl: 300, records: [{ value }] });
  try {
    const { rrset } = await call('GET', `/zones/${ZONE}/rrsets/${name}/TXT`);
    if (rrset.records[0]?.value !== value) throw new Error(`Another value was read: ${JSON.stringify(rrset)}`);
  } finally {
    await call('DELETE', `/zones/${ZONE}/rrsets/${name}/TXT`);
  }
  console.log(`${name} was written, read and deleted.`);
}
