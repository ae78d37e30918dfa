import { Agent, request } from 'node:https';

/** The address of a Kubernetes API server, and the caller. */
export interface Caller {
  readonly url: string;
  /** Certificates in PEM format. */
  readonly authority: string;
  /** Null sends no token. */
  readonly token: string | null;
}

export interface RestAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: probes read bodies of every shape
  readonly body: any;
}

export const applyType = 'application/apply-patch+yaml';
export const mergeType = 'application/merge-patch+json';

/** Makes one call over plain HTTPS. @throws Error if there is no answer within a minute */
export function call(
  { url, authority, token }: Caller,
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
): Promise<RestAnswer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const headers = {
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }),
  };
  // A restarted server must not be asked over a connection to the one before.
  const agent = new Agent({ ca: authority, keepAlive: false });
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, agent, headers, timeout: 60_000 }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text, body: parsed(text) });
      });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(text);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @throws Error unless the answer is 2xx */
export async function must(caller: Caller, ...args: Parameters<typeof call> extends [Caller, ...infer R] ? R : never) {
  const answer = await call(caller, ...args);
  if (answer.status < 200 || answer.status > 299)
    throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${answer.text}`);
  return answer;
}
