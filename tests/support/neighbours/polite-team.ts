import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** What a team does beside its neighbours. */
const politeKinds = ['DNS reads', 'DNS writes', 'cluster reads', 'cluster writes'] as const;
export type PoliteKind = (typeof politeKinds)[number];

export interface PoliteCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

export interface Served {
  readonly durationsMs: readonly number[];
  /** The answers other than success. */
  readonly refusals: readonly string[];
}

const TIMEOUT_MS = 30_000;

/**
 * Sends requests of each kind in turn, at a steady rate: each starts on time even if earlier ones have not ended, so that a slow
 * server cannot slow down the clock that measures it.
 *
 * @param localAddress the address of this machine from which they come
 * @returns what came of each kind
 */
export async function actPolitely(
  callOf: (kind: PoliteKind, index: number) => PoliteCall,
  { seconds, perSecond, localAddress }: { seconds: number; perSecond: number; localAddress: string },
): Promise<readonly Served[]> {
  const agent = new Agent({ keepAlive: true, localAddress });
  const result = new Map(politeKinds.map((kind) => [kind, { durationsMs: [] as number[], refusals: [] as string[] }]));
  const startedAt = performance.now();
  const act = async (index: number): Promise<void> => {
    await pause(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    const kind = politeKinds[index % politeKinds.length] as PoliteKind;
    const sentAt = performance.now();
    const { status, text } = await send(agent, callOf(kind, Math.floor(index / politeKinds.length)));
    result.get(kind)?.durationsMs.push(performance.now() - sentAt);
    if (status < 200 || status > 299) result.get(kind)?.refusals.push(`${status} ${text}`);
  };
  await Promise.all(Array.from({ length: Math.round(seconds * perSecond) }, (_, index) => act(index)));
  agent.destroy();
  return [...result.values()];
}

/** @returns status 0 if there was no answer */
const send = (agent: Agent, { method, url, headers, body }: PoliteCall): Promise<{ status: number; text: string }> =>
  new Promise((resolve) => {
    const json = body === undefined ? undefined : JSON.stringify(body);
    const type = json === undefined ? {} : { 'content-type': 'application/json' };
    const failed = (error: Error) => resolve({ status: 0, text: error.message });
    const req = request(url, { agent, method, headers: { ...headers, ...type }, timeout: TIMEOUT_MS }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', failed).on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    req.on('timeout', () => req.destroy(new Error('no answer'))).on('error', failed);
    req.end(json);
  });

/** @param share from 0 to 1 */
export function percentile(durationsMs: readonly number[], share: number): number {
  const sorted = [...durationsMs].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
