import { type ClusterRoute, clusterOpenApi, clusterRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aCatalogue } from '../support/a-cluster.js';
import { runningCluster } from '../support/clusters.js';
import { fakeGarden } from '../support/fake-garden.js';
import { type FakeProvider, fakeProvider } from '../support/fake-provider.js';
import { givenServers } from '../support/given-servers.js';
import { signed } from '../support/sign-billing.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';
import { encodedBodyOf, pathOf } from '../support/tenancy/how-to-call.js';

/* Sends every example of a request body in the OpenAPI document to the operation at which it stands. */

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Record<string, { readonly examples: Record<string, { value: object }> }> };
}
const { paths } = clusterOpenApi(PUBLIC_URL) as { readonly paths: Record<string, Record<string, Operation>> };
const examples = Object.values(paths)
  .flatMap((path) => Object.values(path))
  .flatMap(({ operationId, requestBody }) =>
    Object.values(requestBody?.content ?? {}).flatMap(({ examples }) =>
      Object.entries(examples).map(([name, { value }]) => [operationId, name, value] as const),
    ),
  );
/** They show what another program or person issued a moment before, which is refused for being unknown. */
const ofAMoment = ['authorize', 'exchangeToken'];

const PROJECT = 'a-token-of-the-cloud-project-of-these-examples';
const BILLING = 'a-secret-of-the-billing-system';
let t: TestClusterApi;
let provider: FakeProvider;
beforeAll(async () => {
  provider = fakeProvider();
  const garden = fakeGarden();
  const [machine] = aCatalogue().machineTypes;
  const machineTypes = ['cpx31', 'ccx33'].map((name) => ({ ...(machine as NonNullable<typeof machine>), name }));
  garden.catalogue = aCatalogue({ machineTypes });
  t = await startClusterApi({
    garden,
    config: {
      devSignIn: true,
      billingSecrets: [BILLING],
      gardenFeatures: new Set(['adopted-nodes', 'control-plane-ha'] as const),
    },
    deps: { projects: provider.projects },
  });
  await t.createTeam('third');
  const connection = { spec: { provider: 'hcloud', token: PROJECT } };
  await t.api.as(t.acme.admin).put(t.acme.path('/connections/main/')).send(connection).expect(201);
  await t.createAccount(t.acme, 'ci', { role: 'viewer' });
  provider.put(PROJECT, { id: 42_017, serverType: 'cx22', location: 'hel1', architecture: 'x86' });
});
afterAll(async () => {
  await t.close();
  provider.close();
});

/** What the operation needs before, and the names in its path. */
async function prepare(operationId: string, name: string): Promise<Record<string, string>> {
  const cluster = `example-${operationId}-${name}`.toLowerCase();
  if (operationId === 'putNodePool' || operationId === 'issueKubeconfig') await runningCluster(t, t.acme, cluster);
  if (operationId === 'putNodePool') await givenServers(t, t.acme, 3);
  const member = await t.db.membership.findFirstOrThrow({ where: { userId: t.acme.member.id } });
  const pool = name === 'adopted' ? 'own' : 'general';
  const ref = name === 'create' ? 'second' : 'main';
  return { name: cluster, cluster, pool, ref, account: 'ci', id: String(member.number) };
}

describe('the example of a body', () => {
  it.each(examples)('of %s, %s, works', async (operationId, name, value) => {
    const route = (clusterRoutes as readonly ClusterRoute[]).find(
      (row) => row.operationId === operationId,
    ) as ClusterRoute;
    const { number } = await t.db.team.findUniqueOrThrow({ where: { slug: 'acme' } });
    const path = pathOf(route, { slug: 'acme', number: String(number) }, await prepare(operationId, name));
    const body = encodedBodyOf(route, value);
    const type = route.form === 'only' ? 'application/x-www-form-urlencoded' : 'application/json';

    // Some examples end the session.
    const cookie = await t.signIn(t.acme.admin);
    const { status, text } = await t.api
      .as({ cookie })
      [route.method](path)
      .set({ 'Content-Type': type, 'Corral-Signature': signed(body, BILLING) })
      .send(body);

    const isExpected = ofAMoment.includes(operationId) ? [400, 401].includes(status) : status < 300;
    expect([isExpected, status, text]).toEqual([true, status, text]);
  });
});
