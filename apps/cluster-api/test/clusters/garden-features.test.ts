import type { ClusterSpec } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, converge, declare } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const cases: [feature: string, spec: Partial<ClusterSpec>, pointer: string][] = [
  [
    'existing-network',
    { network: { ...aClusterSpec().network, existingNetwork: 'backbone' } },
    '/spec/network/existingNetwork',
  ],
  ['private-nodes', { nodePools: [aPool({ publicIP: false })] }, '/spec/nodePools/0/publicIP'],
  [
    'image-options',
    { nodePools: [aPool({ image: { name: 'ubuntu', hugePages: 2 } })] },
    '/spec/nodePools/0/image/hugePages',
  ],
];

describe('a specification that needs an optional garden feature', () => {
  let able: TestClusterApi;
  let plain: TestClusterApi;
  beforeAll(async () => {
    able = await startClusterApi({
      config: { gardenFeatures: new Set(['existing-network', 'private-nodes', 'image-options'] as const) },
    });
    plain = await startClusterApi();
    for (const t of [able, plain]) await addConnection(t, t.acme);
  });
  afterAll(() => Promise.all([able.close(), plain.close()]));

  const put = (t: TestClusterApi, name: string, spec: unknown) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}/`))
      .send({ spec });

  it.each(cases)('is accepted when %s is enabled, and answered as declared', async (name, spec) => {
    const { body } = await put(able, name, aClusterSpec(spec)).expect(202);

    expect(body.resource.spec).toMatchObject(spec);
  });

  it.each(cases)('is refused without %s, with who can enable it', async (name, spec, pointer) => {
    const { body } = await put(plain, name, aClusterSpec(spec)).expect(422);

    expect(body).toMatchObject({ code: 'unsupported_by_garden', errors: [{ pointer }] });
    expect(body.detail).toContain(`ask the operators of this installation to enable ${name}`);
  });

  it('cannot change the existing network of a started cluster', async () => {
    await declare(able, able.acme, 'started');
    await converge(able, able.acme, 'started');
    const network = { ...aClusterSpec().network, existingNetwork: 'backbone' };

    const { body } = await put(able, 'started', aClusterSpec({ network })).expect(422);

    expect(body).toMatchObject({ code: 'immutable_field', errors: [{ pointer: '/spec/network/existingNetwork' }] });
  });
});
