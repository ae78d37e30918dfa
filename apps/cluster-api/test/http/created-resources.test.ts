import { type ClusterOperationId, clusterOpenApi } from '@corral/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ClusterTest, startWithConnection } from '../support/clusters.js';
import { PUBLIC_URL } from '../support/start-cluster-api.js';

interface Documented {
  readonly operationId: string;
  readonly responses: Record<string, { readonly headers?: object }>;
}

let t: ClusterTest;
beforeAll(async () => {
  t = await startWithConnection();
  await t.clusters.declare('existing');
  await t.createAccount(t.acme, 'existing', { role: 'member' });
});
afterAll(() => t.close());

const project = { provider: 'hcloud', token: 'the-token-of-a-cloud-project' };
/** Creates something with each of these operations. */
const creations: Partial<Record<ClusterOperationId, readonly ['put' | 'post', string, object]>> = {
  putCluster: ['put', '/clusters/created/', { spec: aClusterSpec() }],
  putNodePool: ['put', '/clusters/existing/node-pools/second/', { spec: aPool({ name: 'second' }) }],
  createConnection: ['post', '/connections/', { spec: project }],
  putConnection: ['put', '/connections/second/', { spec: project }],
  createDnsToken: ['post', '/dns-tokens/', { name: 'ci' }],
  putServiceAccount: ['put', '/service-accounts/ci/', { spec: { role: 'member' } }],
  putTrustedIssuer: [
    'put',
    '/trusted-issuers/ci/',
    { spec: { issuer: 'https://id.test', audience: 'corral', claims: { sub: 'ci' }, serviceAccount: 'existing' } },
  ],
};
it.each(Object.entries(creations))('the answer to %s has the address of what it created', async (_id, creation) => {
  const [method, path, body] = creation;
  const admin = t.api.as(t.acme.admin);

  const { headers, status } = await admin[method](t.acme.path(path)).send(body);
  const again = method === 'put' ? await admin.put(t.acme.path(path)).send(body) : null;

  expect([201, 202]).toContain(status);
  expect(headers.location).toMatch(/^\/api\/v1\/teams\/acme\//);
  await admin.get(headers.location as string).expect(200);
  expect(again?.headers).not.toEqual(expect.objectContaining({ location: expect.anything() }));
});

it('covers every creation whose address the document promises', () => {
  const { paths } = clusterOpenApi(PUBLIC_URL) as { paths: Record<string, Record<string, Documented>> };
  const promised = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .filter(({ responses }) => [201, 202].some((status) => 'Location' in (responses[status]?.headers ?? {})))
    .map(({ operationId }) => operationId);

  // Adopting a server is tried with the provider's servers.
  expect([...Object.keys(creations), 'adoptServer'].sort()).toEqual(promised.sort());
});

it('an accepted change says when to look at its operation', async () => {
  const accepted = await t.clusters.declare('looked-at').then(() =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path('/clusters/looked-at/'))
      .send({ spec: aClusterSpec({ plan: 'annual' }) }),
  );
  const draft = await t.api
    .as(t.acme.member)
    .put(t.acme.path('/clusters/drafted/'))
    .send({ spec: aClusterSpec({ nodePools: [] }) });

  expect([accepted.status, accepted.headers['retry-after']]).toEqual([202, '1']);
  expect(accepted.headers).not.toHaveProperty('location');
  // The operation of a draft has nothing left to do.
  expect([draft.status, draft.headers['retry-after'], draft.body.operation.state]).toEqual([202, '0', 'succeeded']);
});
