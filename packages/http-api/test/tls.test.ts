import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { rename, symlink, writeFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { waitFor } from '@corral/testing';
import type { KeyPair } from '@corral/testing/certificates';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import type { Served, ServeOptions } from '../src/server/serve.js';
import { openRaw } from './service-process.js';
import { startServing } from './start-serving.js';
import { makeTlsFolder, type TlsFolder, UPSTREAM_NAME } from './tls-files.js';

let files: TlsFolder;
let served: Served | undefined;
beforeEach(async () => {
  files = await makeTlsFolder();
});
afterEach(async () => {
  await served?.close();
  served = undefined;
  await files.remove();
});

async function start(options: Partial<ServeOptions> = {}, addRoutes: (app: Express) => void = () => {}) {
  const started = await startServing(
    (app) => {
      app.get('/v1/zones', (req, res) => res.json({ secure: req.secure, host: req.hostname }));
      addRoutes(app);
    },
    { shutdownGraceMs: 5_000, tls: { ...files, renewalCheckMs: 20 }, ...options },
  );
  served = started;
  return started;
}

/** Calls like a client that has the upstream's address built in: only where its name leads to is different. */
function get(port: number, options: RequestOptions = {}) {
  return new Promise<{ status: number; httpVersion: string; body: string; reused: boolean; expiresAt: string }>(
    (resolve, reject) => {
      const req = request(`https://${UPSTREAM_NAME}:${port}/v1/zones`, {
        ca: files.ca,
        agent: false,
        lookup: (_name, { all }, done) =>
          all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
        ...options,
      });
      req.on('error', reject);
      req.on('response', (res) => {
        let body = '';
        const { valid_to: expiresAt } = (res.socket as TLSSocket).getPeerCertificate();
        res.setEncoding('utf8').on('data', (part: string) => {
          body += part;
        });
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            httpVersion: res.httpVersion,
            body,
            reused: req.reusedSocket,
            expiresAt: new Date(expiresAt).toISOString(),
          }),
        );
      });
      req.end();
    },
  );
}

describe('a service with a certificate', () => {
  it('speaks only TLS on its port', async () => {
    const { url, tlsUrl, port } = await start();
    const plain = await openRaw(port);
    plain.socket.write('GET /v1/zones HTTP/1.1\r\nHost: corral\r\n\r\n');

    const answer = await get(port);
    await plain.closed;

    expect([url, tlsUrl]).toEqual([`https://127.0.0.1:${port}`, `https://127.0.0.1:${port}`]);
    expect(answer).toMatchObject({ status: 200, body: JSON.stringify({ secure: true, host: UPSTREAM_NAME }) });
    expect(plain.text()).not.toContain('HTTP/1.1');
  });

  it('speaks TLS beside plain HTTP when TLS has a separate port', async () => {
    const { url, port, tlsUrl } = await start({ tls: { ...files, port: 0 } });

    const plain = await fetch(`${url}/v1/zones`);
    const secure = await get(Number(new URL(tlsUrl as string).port));

    expect(await plain.json()).toMatchObject({ secure: false });
    expect(JSON.parse(secure.body)).toMatchObject({ secure: true });
    expect(tlsUrl).toMatch(/^https:/);
    expect(url).toBe(`http://127.0.0.1:${port}`);
  });

  it.each<[SecureVersion, string]>([
    ['TLSv1.2', 'TLSv1.2'],
    ['TLSv1.1', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  ])('negotiates %s: %s', async (version, outcome) => {
    const { port } = await start();

    const said = await new Promise((resolve) => {
      // A client that would still take what is outdated: it is for the server to refuse.
      const old = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' };
      const socket = connect({ port, host: '127.0.0.1', servername: UPSTREAM_NAME, ca: files.ca, ...old });
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      socket.once('secureConnect', () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
    });

    expect(said).toBe(outcome);
  });
});

describe('a slow client', () => {
  let answered = 0;
  beforeEach(() => {
    answered = 0;
  });
  const impatient: Partial<ServeOptions> = {
    timeouts: { headersMs: 300, requestMs: 600 },
    onClientError(_error, socket) {
      answered += 1;
      socket.end('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n');
    },
  };

  it('that never begins its handshake is disconnected', async () => {
    const { port } = await start(impatient);

    const client = await openRaw(port);
    await client.closed;

    expect([client.text(), answered]).toEqual(['', 0]);
  });
});

describe('a renewed certificate', () => {
  const days = async (count: number) => {
    const pair = files.issue(count);
    return { pair, expiresAt: expiryOf(pair) };
  };

  it('is presented to new connections, while open ones continue', async () => {
    const { port, logLines, metricsText } = await start();
    const agent = new Agent({ keepAlive: true });
    const before = await get(port, { agent });
    const { pair, expiresAt } = await days(30);

    await files.write(pair);
    const after = await untilExpiring(port, expiresAt);
    const onOpenConnection = await get(port, { agent });
    agent.destroy();

    expect(before.expiresAt).not.toBe(expiresAt);
    expect(after.status).toBe(200);
    expect(onOpenConnection).toMatchObject({ status: 200, reused: true, expiresAt: before.expiresAt });
    expect(await metricsText()).toContain(
      `corral_tls_certificate_expiry_timestamp_seconds{service="test"} ${Date.parse(expiresAt) / 1000}\n`,
    );
    expect(await logLines()).toContainEqual(
      expect.objectContaining({ level: 'info', message: 'certificate renewed', expiresAt }),
    );
  });

  it('is loaded when a symbolic link is replaced, as Kubernetes does', async () => {
    const { pair, expiresAt } = await days(30);
    await writeFile(files.path('new.crt'), pair.certificate);
    await writeFile(files.path('new.key'), pair.key);
    for (const end of ['crt', 'key']) await symlink(`tls.${end}`, files.path(`link.${end}`));
    const { port } = await start({
      tls: { certFile: files.path('link.crt'), keyFile: files.path('link.key'), renewalCheckMs: 20 },
    });

    for (const end of ['crt', 'key']) {
      await symlink(`new.${end}`, files.path(`link.${end}.tmp`));
      await rename(files.path(`link.${end}.tmp`), files.path(`link.${end}`));
    }

    expect((await untilExpiring(port, expiresAt)).status).toBe(200);
  });

  it('that does not match its key yet leaves the old one in use, and is reported once', async () => {
    const { port, logLines } = await start();
    const { expiresAt: before } = await get(port);
    const { pair, expiresAt } = await days(30);
    const warnings = async () => (await logLines()).filter(({ level }) => level === 'warn');

    await files.write({ certificate: pair.certificate });
    await waitFor('the problem to be reported', async () => (await warnings()).length > 0);
    const between = await get(port);
    await files.write({ key: pair.key });
    const after = await untilExpiring(port, expiresAt);

    expect([between.expiresAt, after.expiresAt]).toEqual([before, expiresAt]);
    expect(await warnings()).toEqual([
      expect.objectContaining({
        message: 'certificate not renewed',
        error: expect.objectContaining({ message: expect.stringContaining('does not belong to the certificate') }),
      }),
    ]);
  });
});

it('a certificate that has expired is an error in the log', async () => {
  await files.write(files.issue(-0.5));

  const { logLines } = await start();

  expect(await logLines()).toContainEqual(expect.objectContaining({ level: 'error', message: 'certificate expired' }));
});

describe('closing', () => {
  it('finishes a request in flight, and does not wait for handshakes', async () => {
    let arrived = (): void => {};
    let release = (): void => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const patient = { shutdownGraceMs: 60_000, timeouts: { headersMs: 60_000, requestMs: 60_000 } };
    const { port, close } = await start(patient, (app) =>
      app.get('/v1/slow', (_req, res) => {
        release = () => res.json({ done: true });
        arrived();
      }),
    );
    const silent = await openRaw(port);
    const slow = sayOverTls(port, 'GET /v1/slow HTTP/1.1\r\nHost: corral\r\n\r\n');
    await arrival;

    const closing = close();
    await silent.closed;
    release();
    await closing;

    expect(await slow).toMatch(/^HTTP\/1\.1 200 OK.*Connection: close.*\{"done":true\}$/is);
  });
});

describe('an unusable certificate', () => {
  const refused = async (): Promise<string> =>
    start().then(
      () => 'started',
      (error: Error) => error.message,
    );

  it('is refused with a sentence that names the file', async () => {
    const [other, encrypted] = [files.issue(), generateKeyPairSync('ec', encryptedEcKey).privateKey];
    const { certificate, key } = files.issue();
    const attempts: [Partial<KeyPair>, string][] = [
      [
        { certificate, key: other.key },
        `The key in ${files.keyFile} does not belong to the certificate in ${files.certFile}`,
      ],
      [{ key: encrypted }, `${files.keyFile} does not contain a PEM private key without a passphrase`],
      [{ key: 'no key' }, `${files.keyFile} does not contain a PEM private key without a passphrase`],
      [{ key, certificate: key }, `${files.certFile} does not contain a PEM certificate`],
      [
        { certificate: `${certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` },
        `The certificate in ${files.certFile} cannot be served`,
      ],
    ];
    for (const [written, sentence] of attempts) {
      await files.write(written);
      expect(await refused()).toBe(sentence);
    }
    await files.remove();
    expect(await refused()).toMatch(/tls\.(crt|key) cannot be read$/);
  });
});

const encryptedEcKey = {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a passphrase' },
} as const;

/** @returns all that the service says until it ends the connection */
async function sayOverTls(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername: UPSTREAM_NAME, ca: files.ca });
  let heard = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    heard += part;
  });
  socket.write(text);
  await new Promise((resolve, reject) => socket.once('close', resolve).once('error', reject));
  return heard;
}

const expiryOf = ({ certificate }: KeyPair): string => new Date(new X509Certificate(certificate).validTo).toISOString();

/** The first answer over a connection whose certificate expires at that time. */
const untilExpiring = (port: number, expiresAt: string) =>
  waitFor('the renewed certificate', async () => {
    const answer = await get(port);
    return answer.expiresAt === expiresAt ? answer : undefined;
  });
