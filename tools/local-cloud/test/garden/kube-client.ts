import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
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
  /** Opens a stream of watch events. */
  watch(path: string): Promise<WatchStream>;
  close(): void;
}

export interface WatchStream {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart by the tests
  readonly events: { readonly type: string; readonly object: any }[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  stop(): void;
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
    watch: (path) =>
      new Promise((resolve, reject) => {
        const sent = request(`${server}${path}`, { agent, headers: authorization }, (response) => {
          const events: WatchStream['events'] = [];
          let rest = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            const lines = (rest + chunk).split('\n');
            rest = lines.pop() ?? '';
            events.push(...lines.map((line) => JSON.parse(line)));
          });
          const ended = new Promise<void>((end) => {
            response.on('close', () => end());
          });
          response.on('error', () => undefined);
          resolve({ status: response.statusCode ?? 0, events, ended, stop: () => sent.destroy() });
        });
        sent.on('error', reject);
        sent.end();
      }),
    close: () => agent.destroy(),
  };
}

/** Runs kubectl, asynchronously, as the garden runs in this process. @returns everything that it prints */
export function kubectlWith(kubeconfig: string, folder: string) {
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, kubeconfig);
  return async (...args: string[]): Promise<string> => {
    const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: path, HOME: folder } });
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return out + errors;
  };
}
