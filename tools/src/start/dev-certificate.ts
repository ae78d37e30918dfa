import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { issueServerCertificate, makeAuthority } from '@corral/testing/certificates';
import { UPSTREAM_NAME } from './dev-file.js';
import type { StateFolder } from './state-folder.js';

/** The certificate that the gateway presents to clients with the upstream address built in: files in PEM format. */
export interface DevCertificate {
  /** The certificate of the authority that these clients must trust. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

const NAMES = { dns: [UPSTREAM_NAME, 'localhost'], ip: ['127.0.0.1'] } as const;

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const RENEWED_DAYS_BEFORE = 30;

/**
 * Returns the certificate of the last run, or a new one from a new authority if there is none or it expires soon. The key
 * of the authority is not stored, so no certificates for other names can be issued to those who trust it.
 */
export async function devCertificate(folder: StateFolder, now = Date.now()): Promise<DevCertificate> {
  const place = resolve(folder.path('tls')); // clients get this path, wherever they run
  const files = {
    caFile: join(place, 'ca.pem'),
    certFile: join(place, 'tls.crt'),
    keyFile: join(place, 'tls.key'),
  };
  if (isGood(files, now)) return files;
  const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + VALID_DAYS * DAY_MS) };
  const authority = makeAuthority('Corral on this machine', validity);
  const server = issueServerCertificate(authority, NAMES, validity);
  mkdirSync(place, { recursive: true, mode: 0o700 });
  writeFileSync(files.caFile, authority.certificate, { mode: 0o600 });
  writeFileSync(files.certFile, server.certificate, { mode: 0o600 });
  writeFileSync(files.keyFile, server.key, { mode: 0o600 });
  return files;
}

/** Whether all files are usable. If not, for example because a start ended between two of them, new ones are created. */
function isGood({ caFile, certFile, keyFile }: DevCertificate, now: number): boolean {
  try {
    const ca = new X509Certificate(readFileSync(caFile));
    const server = new X509Certificate(readFileSync(certFile));
    return (
      server.verify(ca.publicKey) &&
      server.checkPrivateKey(createPrivateKey(readFileSync(keyFile))) &&
      server.checkHost(UPSTREAM_NAME) !== undefined &&
      Date.parse(server.validTo) > now + RENEWED_DAYS_BEFORE * DAY_MS
    );
  } catch {
    return false;
  }
}
