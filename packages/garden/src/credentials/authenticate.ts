import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '@corral/contracts';
import type { TlsMaterial } from '@corral/service';
import { objectIn, objectsIn, textIn, textsIn } from '../calls/json.js';
import type { Kubeconfig } from './kubeconfig.js';

export interface Authentication {
  /** Authorization and impersonation. */
  readonly headers: Record<string, string>;
  readonly tls: TlsMaterial;
}

/**
 * Authenticates as kubectl does: by tokens, token files, certificates, exec plugins, or user name and password, and with
 * impersonation.
 *
 * @returns reads all files, and runs the plugin unless what it gave last is still valid. It throws when one of them fails
 */
export function openAuthentication(config: Kubeconfig): () => Promise<Authentication> {
  const { cluster, user, folder } = config;
  const plugin: Plugin | null = user.exec == null ? null : openPlugin(objectIn(user, 'exec'), folder);
  const pathIn = (of: typeof user, key: string) => {
    const path = textIn(of, key);
    return path === null ? null : resolve(folder, path);
  };
  /** A text of the kubeconfig, in base64, takes precedence over a file. */
  const pem = async (of: typeof user, key: string): Promise<Buffer | undefined> => {
    const data = textIn(of, `${key}-data`);
    if (data !== null) return Buffer.from(data, 'base64');
    const path = pathIn(of, key);
    return path === null ? undefined : readFile(path);
  };
  /** A file takes precedence over a token. */
  const token = async (): Promise<string | null> => {
    const path = pathIn(user, 'tokenFile') ?? pathIn(user, 'token-file');
    // Token files end with a newline, which is not allowed in a header.
    return path === null ? textIn(user, 'token') : (await readFile(path, 'utf8')).trim();
  };

  return async () => {
    const given = await plugin?.();
    const bearer = (await token()) ?? given?.token ?? null;
    const name = textIn(user, 'username');
    const basic = name === null ? null : Buffer.from(`${name}:${textIn(user, 'password') ?? ''}`).toString('base64');
    const authorization = bearer !== null ? `Bearer ${bearer}` : basic !== null ? `Basic ${basic}` : null;
    const impersonated = textIn(user, 'as');
    return {
      headers: {
        ...(authorization === null ? {} : { Authorization: authorization }),
        ...(impersonated === null ? {} : { 'Impersonate-User': impersonated }),
      },
      tls: {
        ca: await pem(cluster, 'certificate-authority'),
        cert: given?.certificate ?? (await pem(user, 'client-certificate')),
        key: given?.key ?? (await pem(user, 'client-key')),
        servername: textIn(cluster, 'tls-server-name') ?? undefined,
        ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
      },
    };
  };
}

/** What a plugin gave: a token, a certificate with its key, or both. */
interface PluginCredential {
  readonly token: string | null;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** Runs the plugin, unless what it gave last is still valid. @throws Error when it fails */
type Plugin = () => Promise<PluginCredential>;

const runMsMax = 30_000;

/**
 * @param exec of the user in a kubeconfig @param folder that a relative command belongs to
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
function openPlugin(exec: JsonObject, folder: string): Plugin {
  const named = textIn(exec, 'command') ?? '';
  const command = named.includes('/') ? resolve(folder, named) : named;
  const variables = objectsIn(exec, 'env').map((each) => [String(each.name), String(each.value)] as const);
  const info = { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  const env = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info), ...Object.fromEntries(variables) };
  let kept: { readonly credential: PluginCredential; readonly until: number } | null = null;

  return async () => {
    if (kept !== null && Date.now() < kept.until) return kept.credential;
    const { stdout } = await promisify(execFile)(command, textsIn(exec, 'args'), { env, timeout: runMsMax });
    const status = objectIn(JSON.parse(stdout), 'status');
    const credential = {
      token: textIn(status, 'token'),
      certificate: textIn(status, 'clientCertificateData') ?? undefined,
      key: textIn(status, 'clientKeyData') ?? undefined,
    };
    const expiry = textIn(status, 'expirationTimestamp');
    kept = { credential, until: expiry === null ? Number.POSITIVE_INFINITY : Date.parse(expiry) };
    return credential;
  };
}
