import { brotliCompressSync, gzipSync } from 'node:zlib';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../support/clusters/client.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';

/* A single request must not block all others: bodies that cost a reader without limits far more than their size. */

/** The smaller size is within every limit. Work that grows with its square takes far longer than this for the larger one. */
const SIZES = [60_000, 1_000_000];
const ANSWERED_WITHIN_MS = 1_000;
/** A busy machine delays an answer now and then, a body each time. */
const TRIES = 3;
const TIMEOUT_MS = 300_000;
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

type Operation = { readonly requestBody?: { readonly content: Record<string, { readonly example?: object }> } };
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
type Body = { readonly body: string | Buffer; readonly headers: readonly (readonly [string, string])[] };

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({ gateways: 1 });
});
afterAll(() => system?.stop());

/** Beginnings, what is repeated, and ends. */
const shapes: readonly (readonly [string, string, string])[] = [
  ['{"a":', '[', ''],
  ['', '{"a":', ''],
  ['{"records":[', '{},', '{}]}'],
  ['{"spec":{"nodePools":[', '{},', '{}]}}'],
  ['{"records":[', '1,', '1]}'],
  ['{', '"a":1,', '"a":1}'],
  ['{"name":"', '\\"', '"}'],
  ['{"name":"', '\\\\', ''],
  ['{"', 'x', '":1}'],
  ['{"ttl":', '9', '}'],
  ['{"email":"', 'a.', '"}'],
  ['', ' ', '{}'],
];

/** @param example a valid body, each of whose texts and innermost lists is filled, too */
function hostileBodies(example: object): Body[] {
  const valid = JSON.stringify(example);
  const lists = [...valid.matchAll(/\[([^[\]]+)\]/g)].map(
    ({ 0: { length }, 1: items, index }) =>
      [valid.slice(0, index + 1), `${items},`, `${items}${valid.slice(index + length - 1)}`] as const,
  );
  const texts = [...valid.matchAll(/"[^"]*"(?=[,}\]])/g)].flatMap(({ 0: text, index }) =>
    ['x', 'a.'].map((unit) => [valid.slice(0, index + 1), unit, valid.slice(index + text.length - 1)] as const),
  );
  const filled = SIZES.flatMap((bytes) =>
    [...shapes, ...lists, ...texts].map(([head, unit, tail]) => head + unit.repeat(bytes / unit.length) + tail),
  );
  const nested = '['.repeat(1_000_000);
  const members = Array.from({ length: 80_000 }, (_, at) => `"m${at}":0`);
  return [
    { body: `{${members}}`, headers: [JSON_TYPE] },
    ...filled.map((body) => ({ body, headers: [JSON_TYPE] })),
    { body: gzipSync(nested), headers: [JSON_TYPE, ['Content-Encoding', 'gzip']] },
    { body: brotliCompressSync(nested), headers: [JSON_TYPE, ['Content-Encoding', 'br']] },
    { body: `${'1\r\n[\r\n'.repeat(50_000)}0\r\n\r\n`, headers: [JSON_TYPE, ['Transfer-Encoding', 'chunked']] },
  ];
}

/** Sends such bodies to every operation of a document. @returns those that were not answered in time, or with a fault */
async function findStalls(base: string, prefix: string, credential: readonly [string, string]): Promise<string[]> {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { readonly paths: Paths };
  const found: string[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      if (requestBody === undefined) continue;
      const target = { method: method.toUpperCase(), path: prefix + path.replaceAll(/\{\w+\}/g, 'acme') };
      for (const { body, headers } of hostileBodies(requestBody.content['application/json']?.example ?? {})) {
        const all = [...headers, credential];
        let [status, ms] = [0, Number.POSITIVE_INFINITY];
        for (let turn = 0; turn < TRIES && status < 500 && ms > ANSWERED_WITHIN_MS; turn += 1) {
          const sentAt = performance.now();
          // The service may also answer by closing the connection while the client still sends.
          status = await sendRaw(base, { ...target, body, headers: all }).then(
            (answer) => answer.status,
            () => 0,
          );
          ms = performance.now() - sentAt;
        }
        if (status >= 500 || ms > ANSWERED_WITHIN_MS)
          found.push(`${method} ${path}: ${status} after ${ms} ms: ${body.toString().slice(0, 100)}`);
      }
    }
  }
  return found;
}

it(
  'no body holds up the DNS gateway or the cluster API, on any route that takes one',
  async () => {
    const [team, api, gateway] = [system.teams[0] as ClusterTeam, system.apis[0]?.base, system.gateways[0]?.base];
    const { json } = await team.member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'hostile' } });
    const cookie = await signIn(api as string, 'admin@acme.test');

    expect(await findStalls(gateway as string, '/v1', ['Authorization', `Bearer ${json.token}`])).toEqual([]);
    expect(await findStalls(api as string, '', ['Cookie', cookie])).toEqual([]);
  },
  TIMEOUT_MS,
);
