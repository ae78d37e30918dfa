import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueServerCertificate, type KeyPair, makeAuthority, type Validity } from '@corral/testing/certificates';

export const UPSTREAM_NAME = 'api.hetzner.cloud';
const DAY_MS = 86_400_000;

export interface TlsFolder {
  readonly certFile: string;
  readonly keyFile: string;
  /** What clients have to trust, PEM. */
  readonly ca: string;
  /** One more certificate of the same authority, in no file yet. */
  issue(days?: number): KeyPair;
  /** One file after the other, each in one step. */
  write(pair: Partial<KeyPair>): Promise<void>;
  path(name: string): string;
  remove(): Promise<void>;
}

/** A folder with the certificate of a server, from an authority of its own. */
export async function makeTlsFolder(): Promise<TlsFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-tls-'));
  const path = (name: string) => join(folder, name);
  const replace = async (name: string, text: string): Promise<void> => {
    await writeFile(path(`${name}.new`), text, { mode: 0o600 });
    await rename(path(`${name}.new`), path(name));
  };
  const authority = makeAuthority('tests', validFor(2));
  const names = { dns: [UPSTREAM_NAME, 'localhost'], ip: ['127.0.0.1'] } as const;
  const issue = (days = 1) => issueServerCertificate(authority, names, validFor(days));
  const write = async ({ certificate, key }: Partial<KeyPair>): Promise<void> => {
    if (certificate !== undefined) await replace('tls.crt', certificate);
    if (key !== undefined) await replace('tls.key', key);
  };
  await write(issue());
  return {
    certFile: path('tls.crt'),
    keyFile: path('tls.key'),
    ca: authority.certificate,
    issue,
    write,
    path,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const validFor = (days: number): Validity => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + days * DAY_MS),
});
