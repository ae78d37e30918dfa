import { Agent, request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';

export interface GardenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are picked apart by the tests
  readonly body: any;
}

export interface GardenClient {
  /** Sends a body as JSON with this content type, and a string unchanged. */
  call(
    method: string,
    path: string,
    body?: unknown,
    type?: string,
    more?: Record<string, string>,
  ): Promise<GardenAnswer>;
  /** Opens a stream of watch events. */
  watch(path: string): Promise<WatchStream>;
  close(): void;
}

export interface WatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart by the tests
  readonly object: any;
}

export interface WatchStream {
  readonly status: number;
  readonly events: WatchEvent[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** Calls the garden over plain HTTPS with the credentials of its kubeconfig. */
export function gardenClient(kubeconfig: string): GardenClient {
  const { clusters, users } = parse(kubeconfig);
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const agent = new Agent({ ca: Buffer.from(ca, 'base64'), keepAlive: true });
  const headers = { Authorization: `Bearer ${users[0].user.token}` };

  const call: GardenClient['call'] = (method, path, body, type = 'application/json', more = {}) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    // Without its length Node.js would send the body of a DELETE unframed.
    const framing = text === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) };
    const all = { ...headers, ...framing, ...more };
    return new Promise((resolve, reject) => {
      const sent = request(`${server}${path}`, { method, agent, headers: all }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const isPacked = response.headers['content-encoding'] === 'gzip';
          const received = (isPacked ? gunzipSync(bytes) : bytes).toString('utf8');
          const isJson = response.headers['content-type']?.startsWith('application/json') && received !== '';
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: received,
            body: isJson ? JSON.parse(received) : null,
          });
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
  };

  const watch: GardenClient['watch'] = (path) =>
    new Promise((resolve, reject) => {
      const sent = request(`${server}${path}`, { agent, headers }, (response) => {
        const events: WatchEvent[] = [];
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
    });
  return { call, watch, close: () => agent.destroy() };
}
