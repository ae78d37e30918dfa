// Keeps the addresses of names with ddns-updater, by the file that the page shows: starts it, lets it update once, and ends it.
// It acts on what the DNS says and keeps nothing else that it acts on, so that is what it believes to have.
import { spawn } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { freePort } from '@corral/testing';
import { issueServerCertificate, makeAuthority } from '@corral/testing/certificates';

const { CORRAL_FOLDER, CORRAL_NAME_SERVER, CORRAL_WANTED, CORRAL_ZONE, HCLOUD_TOKEN, SSL_CERT_FILE } = process.env;
const DAY_MS = 86_400_000;
const versions = { A: 'ipv4', AAAA: 'ipv6' };

/** The setting of the page, for each of the wanted sets. */
function configure(wanted) {
  const [shown] = JSON.parse(readFileSync('config.json', 'utf8')).settings;
  const settings = wanted.map(({ name, type, ttl }) => ({
    ...shown,
    domain: `${name}.${CORRAL_ZONE}`,
    token: HCLOUD_TOKEN,
    ip_version: versions[type],
    ttl,
  }));
  writeFileSync('config.json', JSON.stringify({ settings }));
}

/** What tells ddns-updater its public address. It accepts only HTTPS. @returns its address */
async function startEcho(wanted) {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = await makeAuthority('echo', validity);
  const { certificate, key } = await issueServerCertificate(
    authority,
    { dns: ['localhost'], ip: ['127.0.0.1'] },
    validity,
  );
  copyFileSync(SSL_CERT_FILE, 'bundle.pem');
  appendFileSync('bundle.pem', authority.certificate);
  const addresses = Object.fromEntries(wanted.map(({ type, values }) => [`/${versions[type]}`, values[0]]));
  const echo = createServer({ cert: certificate, key }, ({ url }, response) => response.end(addresses[url]));
  await new Promise((listening) => echo.listen(0, '127.0.0.1', listening));
  return { url: `https://127.0.0.1:${echo.address().port}`, stop: () => echo.close() };
}

async function apply() {
  const wanted = JSON.parse(readFileSync(CORRAL_WANTED, 'utf8'));
  configure(wanted);
  const echo = await startEcho(wanted);
  const port = await freePort();
  const updater = spawn('ddns-updater', {
    env: {
      ...process.env,
      SSL_CERT_FILE: `${CORRAL_FOLDER}/bundle.pem`,
      // Relative: it reads these variables in small letters.
      DATADIR: '.',
      CONFIG_FILEPATH: 'config.json',
      LISTENING_ADDRESS: `127.0.0.1:${port}`,
      HEALTH_SERVER_ADDRESS: `127.0.0.1:${await freePort()}`,
      // What a test has in the place of waiting, of a public address and of name servers on port 53.
      UPDATE_COOLDOWN_PERIOD: '1ms',
      RESOLVER_ADDRESS: CORRAL_NAME_SERVER,
      PUBLICIP_FETCHERS: 'http',
      PUBLICIPV4_HTTP_PROVIDERS: `url:${echo.url}/ipv4`,
      PUBLICIPV6_HTTP_PROVIDERS: `url:${echo.url}/ipv6`,
    },
  });
  let said = '';
  for (const stream of [updater.stdout, updater.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += text));
  const ended = new Promise((resolve) => updater.once('close', resolve));
  const updated = await Promise.race([ended.then(() => null), update(port)]);
  updater.kill();
  await ended;
  echo.stop();
  console.log(said);
  if (updated === null || /\bERROR\b/.test(said)) process.exit(1);
}

/** Asks for an update as its web page does, which comes after the one that it begins with. */
async function update(port) {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/update`).catch(() => null);
    if (answer !== null) return answer.status;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function held() {
  const resolver = new Resolver();
  resolver.setServers([CORRAL_NAME_SERVER]);
  const sets = [];
  for (const { domain, ip_version } of JSON.parse(readFileSync('config.json', 'utf8')).settings) {
    const found =
      ip_version === 'ipv4' ? resolver.resolve4(domain, { ttl: true }) : resolver.resolve6(domain, { ttl: true });
    const records = await found.catch(() => []);
    if (records.length === 0) continue;
    const name = domain.slice(0, -CORRAL_ZONE.length - 1);
    const type = ip_version === 'ipv4' ? 'A' : 'AAAA';
    sets.push({ name, type, ttl: records[0].ttl, values: records.map(({ address }) => address) });
  }
  console.log(JSON.stringify({ sets }));
}

await (process.argv.at(-1) === 'apply' ? apply() : held());
