import { openWire } from './exchange.js';
import { readJsonObject } from './json-body.js';

export interface VerifyTokenOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** For both calls together. Default: 3,000. */
  readonly timeoutMs?: number;
}

/** `unknown`: the provider gave no usable answer; nothing was learnt about the token. */
export type TokenVerdict = 'valid' | 'rejected' | 'unknown';

/** Costs nothing, changes nothing, and every project may ask it. */
const PATH = '/locations';

/**
 * Asks the provider whether it takes a token for reading. One 401 may be an outage and would disable a healthy
 * connection, so only a second one, on a connection of its own, means that the token is rejected. What is neither a 401
 * nor the list that was asked for proves nothing. Never more than two calls.
 */
export async function verifyToken({ baseUrl, token, timeoutMs = 3_000 }: VerifyTokenOptions): Promise<TokenVerdict> {
  const endsAt = performance.now() + timeoutMs;
  const ask = async (): Promise<TokenVerdict> => {
    const leftMs = endsAt - performance.now();
    return leftMs <= 0 ? 'unknown' : askOnce({ baseUrl, token, timeoutMs: leftMs });
  };
  const first = await ask();
  return first === 'rejected' ? await ask() : first;
}

async function askOnce(options: Required<VerifyTokenOptions>): Promise<TokenVerdict> {
  const wire = openWire(options);
  try {
    const answer = await wire.exchange({ method: 'GET', path: PATH, body: null });
    if (answer.kind === 'broken') return 'unknown';
    if (answer.status === 401) return 'rejected';
    const listed = answer.status === 200 && Array.isArray(readJsonObject(answer.body)?.value.locations);
    return listed ? 'valid' : 'unknown';
  } finally {
    wire.close();
  }
}
