import { type Agent, request } from 'node:http';

export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
}

export interface Exchanged {
  readonly status: number;
  readonly text: string;
}

/** Longer than any answer may take. */
const TIMEOUT_MS = 30_000;

/**
 * One request over a connection of the agent. It takes 0.1 ms, and one of `fetch` 0.4: what measures a server must cost little
 * beside it.
 *
 * @throws Error if there is no answer within 30 s
 */
export function exchange({ url, method, headers, body }: Exchange, agent: Agent): Promise<Exchanged> {
  const sent = body === undefined ? '' : JSON.stringify(body);
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, ...type }, agent, timeout: TIMEOUT_MS };
    const asking = request(url, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text })).on('error', reject);
    });
    asking.on('timeout', () => asking.destroy(new Error(`${method} ${url} was not answered`)));
    asking.on('error', reject).end(sent);
  });
}

/** @throws Error unless it is answered with a success */
export async function mustExchange(asked: Exchange, agent: Agent): Promise<string> {
  const { status, text } = await exchange(asked, agent);
  if (status < 200 || status > 299) throw new Error(`${asked.method} ${asked.url} was answered ${status}: ${text}`);
  return text;
}
