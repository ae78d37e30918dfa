import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from '@corral/wire';
// The package's index would load every Kubernetes model.
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { User } from '@kubernetes/client-node/dist/config_types.js';
import { parse } from 'yaml';
import { objectIn, objectsIn, textIn } from '../calls/json.js';

export interface KubeconfigSource {
  /** a file, checked for changes. Without it and `text`, the pod's service account is used */
  path?: string | undefined;
  text?: string | undefined;
}

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
 */
export function loadKubeconfig({ path }: KubeconfigSource, text: string | null): KubeConfig {
  const loaded = text === null ? loadServiceAccount() : loadText(text);
  if (path !== undefined) loaded.makePathsAbsolute(dirname(path));

  const cluster = loaded.getCurrentCluster();
  const user = loaded.getCurrentUser();
  if (cluster === null || user === null || !URL.canParse(cluster.server)) {
    throw new Error(
      'The kubeconfig of the garden has no usable current context: its cluster, server or user is missing.',
    );
  }
  const isPlain = checkProtocol(new URL(cluster.server), cluster.skipTLSVerify);
  const tokenFile = text === null ? null : tokenFileOf(text, user.name);
  const chosen = new KubeConfig();
  chosen.loadFromOptions({
    // client-node allows connections without TLS only if verification is off.
    clusters: [{ ...cluster, skipTLSVerify: cluster.skipTLSVerify || isPlain }],
    users: [tokenFile === null ? user : withTokenFile(user, resolve(dirname(path ?? ''), tokenFile))],
    contexts: [{ name: 'garden', cluster: cluster.name, user: user.name }],
    currentContext: 'garden',
  });
  return chosen;
}

function loadServiceAccount(): KubeConfig {
  if (!process.env.KUBERNETES_SERVICE_HOST) {
    throw new Error('No kubeconfig of the garden is set, and this process does not run in a cluster.');
  }
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

function loadText(text: string): KubeConfig {
  try {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  } catch {
    // YAML errors quote the lines around them.
    throw new Error('The kubeconfig of the garden is no valid kubeconfig.');
  }
}

/** @returns whether connections use plain HTTP: only allowed on loopback or with `insecure-skip-tls-verify` */
function checkProtocol({ protocol, hostname }: URL, skipTLSVerify: boolean): boolean {
  if (protocol === 'https:') return false;
  if (protocol !== 'http:') throw new Error('The server in the kubeconfig of the garden is no http(s) address.');
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  if (isLoopback || skipTLSVerify) return true;
  throw new Error('The kubeconfig of the garden names http, where its token would travel in the open. Use https.');
}

/** client-node 1.4 ignores `tokenFile`. It supports `token-file`, unknown to kubectl, and reads that only once. */
function tokenFileOf(text: string, userName: string): string | null {
  const entry = objectsIn(parse(text), 'users').find(({ name }) => name === userName);
  const user = objectIn(entry, 'user');
  return textIn(user, 'tokenFile') ?? textIn(user, 'token-file');
}

/** As in kubectl, the file takes precedence over a token. */
function withTokenFile(user: User, tokenFile: string): User {
  const { token: _, ...rest } = user;
  return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile } } };
}
