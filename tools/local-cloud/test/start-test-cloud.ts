import { type LocalCloud, type LocalCloudOptions, startLocalCloud } from '../src/index.js';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape are picked apart by the tests
  readonly body: any;
}

export interface TestCloud extends LocalCloud {
  /** Calls the API with the valid token; a string body is sent unchanged. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export const TOKEN = 't'.repeat(64);

/** A local cloud with the zones `example.net` (7001) and `demo.test` (7002); actions run for a minute of its clock. */
export async function startTestCloud(options: Partial<LocalCloudOptions> = {}): Promise<TestCloud> {
  const zones = [{ name: 'example.net' }, { name: 'demo.test' }];
  const cloud = await startLocalCloud({ tokens: [TOKEN], zones, actionMs: 60_000, ...options });
  return {
    ...cloud,
    call: (method, path, body, headers = { Authorization: `Bearer ${TOKEN}` }) =>
      send(method, cloud.apiUrl + path, body, headers),
  };
}

async function send(method: string, url: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method, headers, ...(text === undefined ? {} : { body: text }) });
  const received = await response.text();
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json') && received !== '';
  return {
    status: response.status,
    headers: response.headers,
    text: received,
    body: isJson ? JSON.parse(received) : null,
  };
}

export const records = (...values: string[]) => values.map((value) => ({ value }));
