import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DevCertificate, devCertificate } from './dev-certificate.js';
import { stateFolder } from './state-folder.js';

const DAY_MS = 86_400_000;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-certificate-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** The files that a start finds or creates this many days from now. */
const startIn = (days: number) => devCertificate(stateFolder(root), Date.now() + days * DAY_MS);
const readAll = (files: DevCertificate): string[] => Object.values(files).map((file) => readFileSync(file, 'utf8'));
const read = (file: string) => new X509Certificate(readFileSync(file));

describe('the certificate of npm start', () => {
  it('is for the name of the upstream and this machine, and only its user can read it', async () => {
    const { caFile, certFile, keyFile } = await startIn(0);

    expect(read(certFile).subjectAltName).toBe('DNS:api.hetzner.cloud, DNS:localhost, IP Address:127.0.0.1');
    expect(read(certFile).verify(read(caFile).publicKey)).toBe(true);
    for (const file of [caFile, certFile, keyFile]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('comes without the key of its authority', async () => {
    await startIn(0);

    expect(readdirSync(join(root, 'tls')).sort()).toEqual(['ca.pem', 'tls.crt', 'tls.key']);
  });

  it('is kept by later starts until a month before it expires', async () => {
    const first = readAll(await startIn(0));

    expect(readAll(await startIn(334))).toEqual(first);
    expect(readAll(await startIn(336))).not.toEqual(first);
    expect(Date.parse(read(join(root, 'tls', 'tls.crt')).validTo)).toBeGreaterThan(Date.now() + 700 * DAY_MS);
  });

  it.each(['caFile', 'certFile', 'keyFile'] as const)(
    'is created again when its %s belongs to another certificate',
    async (name) => {
      const before = readAll(await startIn(0));
      const files = await startIn(340);
      const index = ['caFile', 'certFile', 'keyFile'].indexOf(name);
      writeFileSync(files[name], before[index] as string);

      const { caFile, certFile } = await startIn(340);

      expect(read(certFile).verify(read(caFile).publicKey)).toBe(true);
      expect(readAll(files)[index]).not.toBe(before[index]);
    },
  );
});
