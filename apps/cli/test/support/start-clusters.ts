import { isDeepStrictEqual } from 'node:util';
import { type FakeService, sendJson, startService } from './run-corral.js';

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
}

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
  const service = await startService((request, text, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', service.url);
    const answer = (status: number, body: object) => sendJson(response, status, body);
    const problem = (status: number, code: string) => answer(status, { status, code, title: code, detail: `${code}.` });
    const [, name = ''] = /\/clusters\/([^/]+)\//.exec(pathname) ?? [];
    const items = [...clusters].map(([each, stored]) => bodyOf(each, stored));
    if (name === '') return answer(200, { items, next: null });
    const stored = clusters.get(name);
    const isDryRun = searchParams.get('dryRun') === 'true';
    if (stored === undefined && request.method !== 'PUT') return problem(404, 'not_found');
    const tag = request.headers['if-match'];
    if (tag !== undefined && (stored === undefined || tag !== tagOf(name, stored)))
      return problem(412, 'precondition_failed');
    if (request.method === 'GET') return answer(200, bodyOf(name, stored as StoredCluster));
    if (!isDryRun) sent.push(`${request.method} ${name}`);
    if (request.method === 'DELETE') {
      if (stored?.spec.deletionProtection === true) return problem(409, 'deletion_protected');
      if (isDryRun) return answer(200, { deletes: [], effects: [effect('deleted')], costDifference });
      clusters.delete(name);
      return void response.writeHead(204).end();
    }
    const { spec: declared } = JSON.parse(text);
    const next = { spec: { ...stored?.spec, ...declared }, generation: (stored?.generation ?? 0) + 1, revision: 1 };
    const isSame = isDeepStrictEqual(next.spec, stored?.spec);
    if (isDryRun) {
      const changes = Object.keys(next.spec)
        .filter((field) => !isDeepStrictEqual(next.spec[field], stored?.spec[field]))
        .map((field) => ({ pointer: `/spec/${field}`, from: stored?.spec[field] ?? null, to: next.spec[field] }));
      const effects = isSame ? [] : [effect(stored === undefined ? 'created' : 'updated')];
      return answer(200, { resource: next, cost: { currency: 'EUR' }, costDifference, changes, effects });
    }
    if (!isSame) clusters.set(name, next);
    answer(isSame ? 200 : 202, bodyOf(name, clusters.get(name) as StoredCluster));
  });
  return { ...service, clusters, sent };
}
