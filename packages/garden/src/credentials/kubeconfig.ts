import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isObject, type JsonObject } from '@corral/contracts';
import { codeOf } from '@corral/service';
import { parse, stringify } from 'yaml';
import { objectIn, objectsIn, textIn } from '../calls/json.js';

export interface KubeconfigSource {
  /** a file, checked for changes. Without it and `text`, the pod's service account is used */
  path?: string | undefined;
  text?: string | undefined;
}

/** The current context of a kubeconfig. */
export interface Kubeconfig {
  readonly server: URL;
  /** of an HTTP proxy */
  readonly proxyUrl: string | null;
  /** as the file has them, with the names of kubectl */
  readonly cluster: JsonObject;
  readonly user: JsonObject;
  /** that relative paths belong to */
  readonly folder: string;
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** @returns null for the pod's service account, which has no text @throws Error when the file cannot be read */
export function readKubeconfig({ path, text }: KubeconfigSource): string | null {
  if (text !== undefined) return text;
  if (path === undefined) return null;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`The kubeconfig ${path} of the garden cannot be read (${codeOf(error)}).`);
  }
}

/**
 * Loads only the current context with its cluster and user.
 *
 * @param text null for the pod's service account
 * @throws Error with the reason, without any content of the file
 * @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
export function loadKubeconfig({ path }: KubeconfigSource, text: string | null): Kubeconfig {
  const { cluster, user } = text === null ? ofServiceAccount() : currentContext(text);
  const server = textIn(cluster, 'server') ?? '';
  if (!URL.canParse(server)) throw new Error(unusable);
  const proxyUrl = textIn(cluster, 'proxy-url');
  checkProtocol(new URL(server), cluster['insecure-skip-tls-verify'] === true);
  if (proxyUrl !== null && !/^https?:\/\//.test(proxyUrl)) {
    throw new Error('The proxy-url in the kubeconfig of the garden is no http(s) address.');
  }
  if (user['auth-provider'] != null) {
    throw new Error('The kubeconfig of the garden has an auth-provider. Use an exec plugin or a tokenFile instead.');
  }
  return { server: new URL(server), proxyUrl, cluster, user, folder: dirname(path ?? '') };
}

/** Whether it runs a program or reads a file. */
export function refersToThisMachine({ cluster, user }: Kubeconfig): boolean {
  const ofUser = ['exec', 'client-certificate', 'client-key', 'tokenFile', 'token-file'];
  return ofUser.some((key) => user[key] != null) || cluster['certificate-authority'] != null;
}

const unusable = 'The kubeconfig of the garden has no usable current context: its cluster, server or user is missing.';

function ofServiceAccount(): Pick<Kubeconfig, 'cluster' | 'user'> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (!host) throw new Error('No kubeconfig of the garden is set, and this process does not run in a cluster.');
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return {
    cluster: { server, 'certificate-authority': `${serviceAccount}/ca.crt` },
    user: { tokenFile: `${serviceAccount}/token` },
  };
}

/** @throws Error which quotes nothing */
function currentContext(text: string): { readonly cluster: JsonObject; readonly user: JsonObject } {
  const config = parsed(text);
  if (config === null) throw new Error('The kubeconfig of the garden is no valid kubeconfig.');
  const named = (list: string, name: unknown) => objectsIn(config, list).find((each) => each.name === name);
  const context = objectIn(named('contexts', config['current-context']), 'context');
  const [cluster, user] = [named('clusters', context.cluster), named('users', context.user)];
  if (cluster === undefined || user === undefined) throw new Error(unusable);
  return { cluster: objectIn(cluster, 'cluster'), user: objectIn(user, 'user') };
}

/** Plain HTTP is only allowed on loopback or with `insecure-skip-tls-verify`. */
function checkProtocol({ protocol, hostname }: URL, skipsVerification: boolean): void {
  if (protocol === 'https:') return;
  if (protocol !== 'http:') throw new Error('The server in the kubeconfig of the garden is no http(s) address.');
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  if (isLoopback || skipsVerification) return;
  throw new Error('The kubeconfig of the garden names http, where its token would travel in the open. Use https.');
}

/**
 * Names the contexts of an issued kubeconfig, to keep them apart when kubeconfigs of many clusters are merged. The
 * current context gets the name, others the name and a number from 2 on, such as `acme/web:2`: no name of a cluster has
 * a colon.
 *
 * @returns any other text unchanged
 */
export function nameContexts(kubeconfig: string, name: string): string {
  const config = parsed(kubeconfig);
  if (config === null || !Array.isArray(config.contexts)) return kubeconfig;
  let others = 1;
  const contexts = config.contexts.filter(isObject).map((context) => {
    if (context.name === config['current-context']) return { ...context, name };
    others += 1;
    return { ...context, name: `${name}:${others}` };
  });
  const isCurrentKnown = contexts.some((context) => objectIn({ context }, 'context').name === name);
  const renamed = { ...config, contexts, ...(isCurrentKnown ? { 'current-context': name } : {}) };
  // No line wrapping: people copy certificates as one line.
  return stringify(renamed, { lineWidth: 0 });
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = parse(text);
    return isObject(value) ? value : null;
  } catch {
    // YAML errors quote the lines around them, which may be secret.
    return null;
  }
}
