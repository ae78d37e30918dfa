import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { clusterSpec } from '../clusters/cluster-rig.js';
import { bearer } from '../load/load.js';
import { CLUSTERS, SETS, type Tenant, ZONE } from './neighbours-rig.js';

/** What a polite team does, as named in the table of results. */
export const politeKinds = ['DNS reads', 'DNS writes', 'cluster reads', 'cluster writes'] as const;
export type PoliteKind = (typeof politeKinds)[number];

export interface Served {
  readonly durationsMs: number[];
  /** The number of answers other than success, by status; 0 means no answer. */
  readonly refusals: number[];
}
export type PoliteResult = Readonly<Record<PoliteKind, Served>>;

/** The highest steady rate that the limits of one team allow: 600 a minute. */
const PER_SECOND = 10;
/** Longer than any answer may take. */
const TIMEOUT_MS = 30_000;

/**
 * Sends ten requests a second to each of the two services, reads and writes in turns. Each starts on time even if earlier
 * ones have not ended, so that a slow server cannot slow down the clock that measures it.
 */
export async function actPolitely(team: Tenant, seconds: number): Promise<PoliteResult> {
  const result = Object.fromEntries(
    politeKinds.map((kind) => [kind, { durationsMs: [], refusals: [] }]),
  ) as unknown as PoliteResult;
  const agent = new Agent({ keepAlive: true, localAddress: team.address });
  const startedAt = performance.now();
  const act = async (kind: PoliteKind, index: number): Promise<void> => {
    await pause(Math.max(0, startedAt + (index * 1_000) / PER_SECOND - performance.now()));
    const sentAt = performance.now();
    const status = await statusOf(agent, callOf(kind, team, index));
    result[kind].durationsMs.push(performance.now() - sentAt);
    if (status < 200 || status > 299) result[kind].refusals.push(status);
  };
  const indexes = Array.from({ length: seconds * PER_SECOND }, (_, index) => index);
  await Promise.all(
    indexes.flatMap((index) =>
      index % 2 === 0
        ? [act('DNS reads', index), act('cluster writes', index)]
        : [act('DNS writes', index), act('cluster reads', index)],
    ),
  );
  agent.destroy();
  return result;
}

interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** The bodies of any two calls differ, so that each call is a change. */
export function callOf(kind: PoliteKind, { gateway, api, slug, tokens, cookies }: Tenant, index: number): Call {
  const rrsets = `${gateway}/v1/zones/${ZONE}/rrsets`;
  const clusters = `${api}/api/v1/teams/${slug}/clusters/`;
  // All tokens get reads and writes.
  const token = bearer(tokens[Math.floor(index / 2) % tokens.length] as string);
  const cookie = { cookie: cookies[Math.floor(index / 2) % cookies.length] as string };
  const turn = Math.floor(index / 2);
  switch (kind) {
    case 'DNS reads':
      return { method: 'GET', url: rrsets, headers: token };
    case 'DNS writes': {
      const records = [{ value: `10.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}` }];
      const url = `${rrsets}/w${turn % SETS}.${slug}/A/actions/set_records`;
      return { method: 'POST', url, headers: token, body: { records } };
    }
    case 'cluster reads':
      return { method: 'GET', url: clusters, headers: cookie };
    case 'cluster writes': {
      const spec = clusterSpec(2 + (Math.floor(turn / CLUSTERS) % 50));
      return { method: 'PUT', url: `${clusters}c${turn % CLUSTERS}/`, headers: cookie, body: { spec } };
    }
  }
}

/** @returns 0 if there was no answer */
const statusOf = (agent: Agent, { method, url, headers, body }: Call): Promise<number> =>
  new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const type = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': text.length };
    const req = request(url, { agent, method, headers: { ...headers, ...type }, timeout: TIMEOUT_MS }, (answer) => {
      answer.resume().on('error', () => resolve(0));
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    req.on('timeout', () => req.destroy()).on('error', () => resolve(0));
    req.end(text);
  });
