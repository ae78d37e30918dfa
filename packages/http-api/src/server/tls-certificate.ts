import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

/** PEM files, as written by cert-manager, ACME clients and Kubernetes Secrets. */
export interface TlsFiles {
  /** The certificate, followed by its intermediates. */
  readonly certFile: string;
  /** Its private key, without a passphrase. */
  readonly keyFile: string;
}

/** A certificate and its private key. */
export interface TlsCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** Its subject alternative names, as text. */
  readonly names: string;
  readonly expiresAt: Date;
}

/**
 * Reads a certificate and its key.
 *
 * @throws Error that names the file when one is unreadable or the two do not match
 */
export async function readTlsCertificate({ certFile, keyFile }: TlsFiles): Promise<TlsCertificate> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  const certificate = or(`${certFile} does not contain a PEM certificate`, () => new X509Certificate(cert));
  const privateKey = or(`${keyFile} does not contain a PEM private key without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`The key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  or(`The certificate in ${certFile} cannot be served`, () => createSecureContext({ cert, key }));
  const { subjectAltName, subject, validTo } = certificate;
  return { cert, key, names: subjectAltName ?? subject, expiresAt: new Date(validTo) };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`${file} cannot be read`, { cause });
  }
}

function or<T>(problem: string, attempt: () => T): T {
  try {
    return attempt();
  } catch (cause) {
    throw new Error(problem, { cause });
  }
}

export interface RenewalOptions {
  readonly current: TlsCertificate;
  /** Interval of the checks in ms. Default: 10,000. */
  readonly everyMs?: number | undefined;
  readonly onRenewed: (certificate: TlsCertificate) => void;
  /** Called once per problem that persists at the next check. The current certificate stays in use. */
  readonly onProblem: (error: Error) => void;
}

/**
 * Polls the files and reports when they contain another certificate. Compares contents instead of watching the file system:
 * Kubernetes and ACME clients replace symbolic links, and copies may keep their times. A pair that does not match is being
 * written, unless that persists.
 *
 * @returns a function that stops it
 */
export function watchTlsCertificate(files: TlsFiles, options: RenewalOptions): () => void {
  const { everyMs = 10_000, onRenewed, onProblem } = options;
  let { current } = options;
  let problem: string | undefined;
  let sightings = 0;
  const look = async (): Promise<void> => {
    if (ended) return;
    try {
      const read = await readTlsCertificate(files);
      problem = undefined;
      if (read.cert === current.cert && read.key === current.key) return;
      current = read;
      onRenewed(read);
    } catch (error) {
      const { message } = error as Error;
      sightings = message === problem ? sightings + 1 : 1;
      problem = message;
      if (sightings === 2) onProblem(error as Error);
    }
  };
  let ended = false;
  const lookLater = (): void => {
    if (!ended) setTimeout(() => look().then(lookLater), everyMs).unref();
  };
  lookLater();
  return () => {
    ended = true;
  };
}
