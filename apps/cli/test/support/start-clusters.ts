import { isDeepStrictEqual } from 'node:util';
import { type FakeService, type Folder, type RunOptions, runCorral, sendJson, startService } from './run-corral.js';

export interface StoredCluster {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly generation: number;
  /** Moves with the status. */
  readonly revision: number;
}

export interface FakeClusters extends FakeService {
  readonly clusters: Map<string, StoredCluster>;
  /** What was changed, such as `PUT web`. */
  readonly sent: string[];
  /** Runs before a change is looked at. */
  meanwhile: () => void;
}

/** Declarations of these plans are refused. */
const refusals: Readonly<Record<string, [status: number, code: string]>> = {
  wrong: [422, 'validation_failed'],
  'too much': [403, 'quota_exceeded'],
};

const range = { minimum: 1, maximum: 2 };
/** What becomes of a node pool that a declaration leaves out. */
export const removalOf = (pool: string) => ({
  target: 'nodePool',
  pool,
  kind: 'removed',
  nodes: { before: range, after: null },
  fields: [],
  reason: 'Its adopted servers are drained and leave the cluster.',
});
/** What leads to each pool that goes and to each cluster that is deleted. */
const leadingSet = { zone: 'example.test', name: 'www.acme', type: 'A', values: ['192.0.2.1'] };

const poolsOf = (spec: Readonly<Record<string, unknown>> = {}): string[] =>
  ((spec.nodePools ?? []) as { name: string }[]).map(({ name }) => name);

export const aCluster = (spec: object = {}): StoredCluster => ({
  spec: { kubernetesVersion: '1.34', deletionProtection: false, nodePools: [], ...spec },
  generation: 1,
  revision: 1,
});

/** The API of a team as far as declaring, reading and deleting its clusters goes. */
export async function startClusters(): Promise<FakeClusters> {
  const clusters = new Map<string, StoredCluster>();
  const sent: string[] = [];
  const tagOf = (name: string, { generation, revision }: StoredCluster) => `"${name}.${generation}.${revision}"`;
  const bodyOf = (name: string, stored: StoredCluster) => ({
    apiVersion: 'clusters.corral.dev/v1',
    kind: 'Cluster',
    metadata: { name, team: 'acme', id: `id of ${name}`, generation: stored.generation, etag: tagOf(name, stored) },
    spec: stored.spec,
    status: { phase: 'Ready', lastOperation: null },
  });
  const costDifference = { monthly: { minimum: '0', maximum: '0' } };
  const effect = (kind: string) => ({
    target: 'cluster',
    kind,
    kubernetesVersion: { before: null, after: null },
    fields: [],
    reason: 'So it is.',
  });
  const api = { clusters, sent, meanwhile: () => undefined } as Omit<FakeClusters, keyof FakeService>;
  const service = await startService((request, text, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', service.url);
    const answer = (status: number, body: object) => sendJson(response, status, body);
    const problem = (status: number, code: string) => answer(status, { status, code, title: code, detail: `${code}.` });
    if (pathname.endsWith('/dangling-record-sets/'))
      return answer(200, { items: [{ ...leadingSet, goneAt: '2026-11-03T00:00:00.000Z', reason: 'It was a node.' }] });
    const [, name = ''] = /\/clusters\/([^/]+)\//.exec(pathname) ?? [];
    const items = [...clusters].map(([each, stored]) => bodyOf(each, stored));
    if (name === '') return answer(200, { items, next: null });
    const isDryRun = searchParams.get('dryRun') === 'true';
    if (request.method === 'PUT' && !isDryRun) api.meanwhile();
    const stored = clusters.get(name);
    if (stored === undefined && request.method !== 'PUT') return problem(404, 'not_found');
    const tag = request.headers['if-match'];
    if (tag !== undefined && (stored === undefined || tag !== tagOf(name, stored)))
      return problem(412, 'precondition_failed');
    if (request.method === 'GET') return answer(200, bodyOf(name, stored as StoredCluster));
    const { spec: declared } = request.method === 'PUT' ? JSON.parse(text) : { spec: {} };
    const refusal = refusals[declared.plan];
    if (refusal !== undefined) return problem(...refusal);
    if (!isDryRun) sent.push(`${request.method} ${name}`);
    if (request.method === 'DELETE') {
      if (stored?.spec.deletionProtection === true) return problem(409, 'deletion_protected');
      if (isDryRun)
        return answer(200, {
          deletes: [],
          resource: { status: { cost: { currency: 'EUR' } } },
          effects: [effect('deleted')],
          costDifference,
          recordSets: [leadingSet],
        });
      clusters.delete(name);
      return void response.writeHead(204).end();
    }
    const next = { spec: { ...stored?.spec, ...declared }, generation: (stored?.generation ?? 0) + 1, revision: 1 };
    const isSame = isDeepStrictEqual(next.spec, stored?.spec);
    if (isDryRun) {
      const changes = Object.keys(next.spec)
        .filter((field) => !isDeepStrictEqual(next.spec[field], stored?.spec[field]))
        .map((field) => ({ pointer: `/spec/${field}`, from: stored?.spec[field] ?? null, to: next.spec[field] }));
      const gone = poolsOf(stored?.spec).filter((pool) => !poolsOf(next.spec).includes(pool));
      const own = isSame ? [] : [effect(stored === undefined ? 'created' : 'updated')];
      const effects = [...own, ...gone.map(removalOf)];
      const recordSets = gone.map(() => leadingSet);
      return answer(200, { resource: next, cost: { currency: 'EUR' }, costDifference, changes, effects, recordSets });
    }
    if (!isSame) {
      clusters.set(name, next);
      response.setHeader('Operation-Location', `${service.url}/api/v1/teams/acme/operations/o1/`);
    }
    answer(isSame ? 200 : 202, bodyOf(name, clusters.get(name) as StoredCluster));
  });
  return Object.assign(api, service);
}

/** Runs the command with a token of the team, and without a configuration. */
export const runOn = ({ url }: FakeClusters, folder: Folder, args: readonly string[], at: RunOptions = {}) =>
  runCorral(args, {
    ...at,
    env: {
      CORRAL_CONFIG: folder.file('none.yaml'),
      CORRAL_URL: url,
      CORRAL_TOKEN: 'corral_token',
      TERM: 'dumb',
    },
  });
