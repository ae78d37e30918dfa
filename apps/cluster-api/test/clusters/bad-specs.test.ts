import type { ClusterSpec } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, everythingOf, runningCluster } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const network = (more: Partial<ClusterSpec['network']>) => ({ network: { ...aClusterSpec().network, ...more } });
const pools = (...more: Parameters<typeof aPool>) => ({ nodePools: [aPool(...more)] });
const without = (field: keyof ClusterSpec) => {
  const { [field]: _, ...rest } = aClusterSpec();
  return rest;
};

/** Asserts status, code, the first pointer, and that `detail` is a sentence. */
function expectProblem(
  answer: { status: number; body: Record<string, unknown> },
  wanted: readonly [number, string, string?],
) {
  const [status, code, pointer] = wanted;
  const { errors, detail } = answer.body as { errors?: { pointer: string }[]; detail: string };
  expect([answer.status, answer.body.code, errors?.[0]?.pointer]).toEqual([status, code, pointer]);
  expect(detail).toMatch(/^\S.{10,}[.]$/);
}

describe('an invalid specification', () => {
  let t: TestClusterApi;
  beforeAll(async () => {
    t = await startClusterApi();
    await addConnection(t, t.acme);
    await runningCluster(t, t.acme, 'there');
  });
  afterAll(() => t.close());

  const put = (name: string, body: unknown) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}/`))
      .send(body as object);

  it.each<[string, object, [number, string, string?]]>([
    ['has an unknown field', { ...aClusterSpec(), nodePool: [] }, [422, 'validation_failed', '/spec/nodePool']],
    ['lacks its connection', without('connectionRef'), [422, 'validation_failed', '/spec/connectionRef']],
    ['lacks its region', without('region'), [422, 'validation_failed', '/spec/region']],
    ['lacks its version', without('kubernetesVersion'), [422, 'validation_failed', '/spec/kubernetesVersion']],
    ['has a wrong type', { ...aClusterSpec(), hibernated: 'no' }, [422, 'validation_failed', '/spec/hibernated']],
    ['has null for its region', { ...aClusterSpec(), region: null }, [422, 'validation_failed', '/spec/region']],
    ['has an unknown plan', { ...aClusterSpec(), plan: 'free' }, [422, 'validation_failed', '/spec/plan']],
    [
      'has a version of 21 characters',
      aClusterSpec({ kubernetesVersion: `1.33.${'1'.repeat(16)}` }),
      [422, 'validation_failed', '/spec/kubernetesVersion'],
    ],
    [
      'has a pool with a name that is too long',
      aClusterSpec(pools({ name: 'p'.repeat(51) })),
      [422, 'validation_failed', '/spec/nodePools/0/name'],
    ],
    [
      'has a machine type that is too long',
      aClusterSpec(pools({ machineType: 'c'.repeat(21) })),
      [422, 'validation_failed', '/spec/nodePools/0/machineType'],
    ],
    [
      'has overlapping ranges',
      aClusterSpec(network({ serviceCIDR: '10.244.0.0/20' })),
      [422, 'invalid_network', '/spec/network/serviceCIDR'],
    ],
    [
      'has a node range that is not supported',
      aClusterSpec(network({ nodeCIDR: '10.0.0.0/8' as never })),
      [422, 'validation_failed', '/spec/network/nodeCIDR'],
    ],
    [
      'wants an existing network',
      aClusterSpec(network({ existingNetwork: 'mine' })),
      [422, 'unsupported_by_garden', '/spec/network/existingNetwork'],
    ],
    ['has an unknown region', aClusterSpec({ region: 'mars' }), [422, 'validation_failed', '/spec/region']],
    [
      'has a version that is not offered',
      aClusterSpec({ kubernetesVersion: '1.22.1' }),
      [422, 'unsupported_version', '/spec/kubernetesVersion'],
    ],
    [
      'has an unknown machine type',
      aClusterSpec(pools({ machineType: 'm5.large' })),
      [422, 'invalid_node_pool', '/spec/nodePools/0/machineType'],
    ],
    [
      'has an arm64 machine type',
      aClusterSpec(pools({ machineType: 'cax21' })),
      [422, 'unsupported_by_garden', '/spec/nodePools/0/machineType'],
    ],
    [
      'has a minimum above its maximum',
      aClusterSpec(pools({ minimum: 5, maximum: 2 })),
      [422, 'invalid_node_pool', '/spec/nodePools/0/minimum'],
    ],
    [
      'has two pools with the same name',
      aClusterSpec({ nodePools: [aPool(), aPool()] }),
      [422, 'invalid_node_pool', '/spec/nodePools/1/name'],
    ],
    [
      'has nodes without a public address',
      aClusterSpec(pools({ publicIP: false })),
      [422, 'unsupported_by_garden', '/spec/nodePools/0/publicIP'],
    ],
    [
      'has a pool on adopted servers',
      aClusterSpec(pools({ source: 'onprem' })),
      [422, 'unsupported_by_garden', '/spec/nodePools/0/source'],
    ],
    [
      'has an unknown image option',
      aClusterSpec(pools({ image: { id: 5 } })),
      [422, 'unsupported_by_garden', '/spec/nodePools/0/image/id'],
    ],
    [
      'has a highly available control plane',
      aClusterSpec({ controlPlaneHA: true }),
      [422, 'unsupported_by_garden', '/spec/controlPlaneHA'],
    ],
    ['has too many nodes', aClusterSpec(pools({ maximum: 101 })), [403, 'quota_exceeded', '/spec/nodePools']],
  ])('that %s is refused with a code and pointer, and nothing is written', async (_what, spec, wanted) => {
    const before = await everythingOf(t, t.acme);

    expectProblem(await put('new', { spec }), wanted);
    expect(await everythingOf(t, t.acme)).toEqual(before);
  });

  it.each<[string, Partial<ClusterSpec>, [number, string, string?]]>([
    ['connection', { connectionRef: 'other' }, [422, 'immutable_field', '/spec/connectionRef']],
    ['region', { region: 'fsn1' }, [422, 'immutable_field', '/spec/region']],
    ['network', network({ podCIDR: '10.100.0.0/16' }), [422, 'immutable_field', '/spec/network/podCIDR']],
    [
      'version to a lower one',
      { kubernetesVersion: '1.32.8' },
      [422, 'unsupported_version', '/spec/kubernetesVersion'],
    ],
    [
      'version by two minor versions',
      { kubernetesVersion: '1.35.0' },
      [422, 'unsupported_version', '/spec/kubernetesVersion'],
    ],
    ['pools to none', { nodePools: [] }, [422, 'last_node_pool', '/spec/nodePools']],
  ])('that changes the %s of a running cluster is refused, and nothing is written', async (_what, spec, wanted) => {
    const before = await everythingOf(t, t.acme);

    expectProblem(await put('there', { spec: aClusterSpec(spec) }), wanted);
    expect(await everythingOf(t, t.acme)).toEqual(before);
  });

  it.each([
    ['in capitals', 'Web'],
    ['with an underscore', 'web_1'],
    ['of 64 characters', 'w'.repeat(64)],
    ['that ends in a hyphen', 'web-'],
    ['with a NUL', 'web%00'],
    ['with an escaped slash', 'a%2Fb'],
  ])('for a cluster name %s is refused', async (_what, name) => {
    expectProblem(await put(name, { spec: aClusterSpec() }), [422, 'validation_failed', '']);
  });

  it.each<[string, string, string]>([
    ['broken JSON', '{"spec":', 'invalid_json'],
    ['an array', '[]', 'invalid_json'],
    ['an empty body', '', 'invalid_json'],
  ])('sent as %s is refused', async (_what, text, code) => {
    const answer = await t.api
      .as(t.acme.member)
      .put(t.acme.path('/clusters/new/'))
      .set('Content-Type', 'application/json')
      .send(text);

    expect([answer.status, answer.body.code]).toEqual([400, code]);
  });

  it('sent as a form is refused', async () => {
    const answer = await t.api.as(t.acme.member).put(t.acme.path('/clusters/new/')).type('form').send('spec=1');

    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('with a misspelt dryRun is refused instead of applied', async () => {
    const answer = await t.api
      .as(t.acme.member)
      .put(t.acme.path('/clusters/new/?dryrun=true'))
      .send({ spec: aClusterSpec() });

    expectProblem(answer, [422, 'validation_failed', '/query/dryrun']);
  });
});
