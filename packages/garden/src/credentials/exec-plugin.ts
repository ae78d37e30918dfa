import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '@corral/service';
import { objectIn, objectsIn, textIn, textsIn } from '../calls/json.js';

/** What a plugin gave: a token, a certificate with its key, or both. */
export interface PluginCredential {
  readonly token: string | null;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** Runs the plugin, unless what it gave last is still valid. @throws Error when it fails */
export type Plugin = () => Promise<PluginCredential>;

const runMsMax = 30_000;

/**
 * @param exec of the user in a kubeconfig @param folder that a relative command belongs to
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
export function openPlugin(exec: JsonObject, folder: string): Plugin {
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
