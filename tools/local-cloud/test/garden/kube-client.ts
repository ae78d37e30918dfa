import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';

export interface KubeAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are picked apart by the tests
  readonly body: any;
}

export interface KubeClient {
  /** Address of the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** Sends a body as JSON. The default type of a PATCH is a merge patch. */
  call(method: string, path: string, body?: unknown, type?: string): Promise<KubeAnswer>;
  close(): void;
}

const decoded = (base64: string | undefined) => base64 && Buffer.from(base64, 'base64').toString();

/** Calls the garden or a Shoot over plain HTTPS with the credentials of a kubeconfig. */
export function kubeClient(kubeconfig: string): KubeClient {
  const { clusters, users } = parse(kubeconfig);
  const { server, 'certificate-authority-data': ca, 'tls-server-name': servername } = clusters[0].cluster;
  const { token, 'client-certificate-data': cert, 'client-key-data': key } = users[0].user;
  const certificateAuthority = decoded(ca) ?? '';
  const agent = new Agent({
    ca: certificateAuthority,
    cert: decoded(cert),
    key: decoded(key),
    servername,
    keepAlive: true,
  });
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return {
    server,
    certificateAuthority,
    call(method, path, body, type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json') {
      const sentText = body === undefined ? undefined : JSON.stringify(body);
      // Without its length Node.js would send the body of a DELETE unframed.
      const framing = sentText && { 'Content-Type': type, 'Content-Length': Buffer.byteLength(sentText) };
      const headers = { ...authorization, ...(framing || {}) };
      return new Promise((resolve, reject) => {
        const sent = request(`${server}${path}`, { method, agent, headers }, (response) => {
          const isJson = response.headers['content-type']?.startsWith('application/json');
          text(response)
            .then((received) => ({
              status: response.statusCode ?? 0,
              text: received,
              body: isJson && received !== '' ? JSON.parse(received) : null,
            }))
            .then(resolve, reject);
        });
        sent.on('error', reject);
        sent.end(sentText);
      });
    },
    close: () => agent.destroy(),
  };
}
