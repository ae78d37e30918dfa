import { stringify } from 'yaml';

export interface KubeconfigCluster {
  readonly name: string;
  /** `https://…`. */
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  /** Name that the server's certificate is checked against, when it is not in the address. */
  readonly tlsServerName?: string;
}

export type KubeconfigUser =
  | { readonly token: string }
  /** PEM. */
  | { readonly certificate: string; readonly key: string };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const userFields = (user: KubeconfigUser) =>
  'token' in user
    ? { token: user.token }
    : { 'client-certificate-data': base64(user.certificate), 'client-key-data': base64(user.key) };

/** A kubeconfig with one context per cluster, all for one user; the first is the current one. */
export function renderKubeconfig(
  userName: string,
  user: KubeconfigUser,
  clusters: readonly [KubeconfigCluster, ...KubeconfigCluster[]],
  namespace?: string,
): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0].name,
    clusters: clusters.map(({ name, server, authority, tlsServerName }) => ({
      name,
      cluster: {
        server,
        'certificate-authority-data': base64(authority),
        ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
      },
    })),
    contexts: clusters.map(({ name }) => ({
      name,
      context: { cluster: name, user: userName, ...(namespace === undefined ? {} : { namespace }) },
    })),
    users: [{ name: userName, user: userFields(user) }],
  });
}
