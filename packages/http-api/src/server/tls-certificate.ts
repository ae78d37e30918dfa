import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

/** Files with PEM, as cert-manager, ACME clients and Secrets of Kubernetes have them. */
export interface TlsFiles {
  /** The certificate, and after it those that lead to an authority. */
  readonly certFile: string;
  /** Its private key, without a passphrase. */
  readonly keyFile: string;
}

/** A certificate with the key that belongs to it. */
export interface TlsCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** Names and addresses that it is for, as text. */
  readonly names: string;
  readonly expiresAt: Date;
}

/**
 * Reads a certificate and its key.
 *
 * @throws Error with a sentence that names the file, when one cannot be read or the two do not fit together
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
  /** How often the files are looked at. Default: 10,000. */
  readonly everyMs?: number | undefined;
  readonly onRenewed: (certificate: TlsCertificate) => void;
  /** Once per problem that is still there at the next look; the certificate in use stays. */
  readonly onProblem: (error: Error) => void;
}

/**
 * Reads the files again and again and tells when they hold another certificate. Contents are compared and no change of
 * the file system is awaited: Kubernetes and ACME clients put symbolic links in another place, and copies may keep
 * their times. A pair that does not fit is a pair that is being written, unless it stays so.
 *
 * @returns a function that ends it
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
