import { describe, expect, it } from '@jest/globals';
import { InvalidBody } from '../../parser-for.js';
import {
  parseClusterPut,
  parseConnectionPost,
  parseConnectionPut,
  parseKubeconfigRequest,
  parseNodePoolPut,
} from './requests.js';

const spec = (more: object = {}) => ({ connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.34.3', ...more });
const pool = (more: object = {}) => ({ name: 'general', machineType: 'cpx31', ...more });

function wrongPlaces(parse: (body: unknown) => unknown, body: unknown): string[] {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidBody) return error.fields.map((field) => field.pointer);
    throw error;
  }
  return [];
}

describe('parseClusterPut', () => {
  it('fills in nothing, because what is absent may stay as it is', () => {
    expect(parseClusterPut({ spec: spec({ nodePools: [pool()] }) }).spec).toEqual(spec({ nodePools: [pool()] }));
    expect(parseClusterPut({ spec: { kubernetesVersion: '1.34' } }).spec).toEqual({ kubernetesVersion: '1.34' });
  });

  it('treats null as absent', () => {
    const absent = {
      connectionRef: null,
      region: null,
      hibernated: null,
      controlPlaneHA: null,
      plan: null,
      network: null,
      nodePools: [{ name: 'general', source: null, machineType: null, image: { name: null }, minimum: null }],
    };

    expect(parseClusterPut({ spec: { kubernetesVersion: '1.34', ...absent }, status: null }).spec).toEqual({
      kubernetesVersion: '1.34',
      nodePools: [{ name: 'general', image: {} }],
    });
    expect(parseClusterPut({ spec: spec({ network: { podCIDR: null, existingNetwork: null } }) }).spec.network).toEqual(
      {},
    );
  });

  it('accepts the other members of a GET answer', () => {
    const { apiVersion, kind, metadata, status } = {
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Cluster',
      metadata: { name: 'web', team: 'acme' },
      status: { phase: 'Ready', conditions: [], seedName: null },
    };

    expect(parseClusterPut({ apiVersion, kind, metadata, spec: spec(), status }).metadata?.name).toBe('web');
  });

  it.each<[string, unknown, string[]]>([
    ['a string', 'text', ['']],
    ['no specification', {}, ['/spec']],
    ['a field beside the specification', { spec: spec(), name: 'x' }, ['/name']],
    ['an unknown field', { spec: spec({ hibernate: true }) }, ['/spec/hibernate']],
    ['a wrong type', { spec: spec({ hibernated: 'yes' }) }, ['/spec/hibernated']],
    ['null for what is required', { spec: spec({ kubernetesVersion: null }) }, ['/spec/kubernetesVersion']],
    ['null for an unknown field', { spec: spec({ plam: null }) }, ['/spec/plam']],
    ['another kind', { kind: 'Connection', spec: spec() }, ['/kind']],
    ['a list as metadata', { metadata: [], spec: spec() }, ['/metadata']],
    [
      'a version of 21 characters',
      { spec: spec({ kubernetesVersion: `1.${'3'.repeat(19)}` }) },
      ['/spec/kubernetesVersion'],
    ],
    ['a malformed version', { spec: spec({ kubernetesVersion: 'v1.34' }) }, ['/spec/kubernetesVersion']],
    [
      'a node range that is not offered',
      { spec: spec({ network: { nodeCIDR: '10.0.0.0/8' } }) },
      ['/spec/network/nodeCIDR'],
    ],
    ['a reference with a slash', { spec: spec({ connectionRef: 'a/b' }) }, ['/spec/connectionRef']],
    ['a pool without a name', { spec: spec({ nodePools: [{}] }) }, ['/spec/nodePools/0/name']],
    ['null for a pool', { spec: spec({ nodePools: [null] }) }, ['/spec/nodePools/0']],
    [
      'a pool name of 51 characters',
      { spec: spec({ nodePools: [pool({ name: 'a'.repeat(51) })] }) },
      ['/spec/nodePools/0/name'],
    ],
    ['a pool name in capitals', { spec: spec({ nodePools: [pool({ name: 'General' })] }) }, ['/spec/nodePools/0/name']],
    [
      'a machine type of 21 characters',
      { spec: spec({ nodePools: [pool({ machineType: 'c'.repeat(21) })] }) },
      ['/spec/nodePools/0/machineType'],
    ],
    [
      'a number of nodes below zero',
      { spec: spec({ nodePools: [pool({ minimum: -1 })] }) },
      ['/spec/nodePools/0/minimum'],
    ],
    ['half a node', { spec: spec({ nodePools: [pool({ maximum: 1.5 })] }) }, ['/spec/nodePools/0/maximum']],
  ])('rejects %s and names the field', (_what, body, pointers) => {
    expect(wrongPlaces(parseClusterPut, body)).toEqual(pointers);
  });
});

describe('parseKubeconfigRequest', () => {
  it('defaults to one hour', () => {
    expect(parseKubeconfigRequest({})).toEqual({ ttlSeconds: 3600, scope: 'admin' });
    expect(parseKubeconfigRequest({ ttlSeconds: null })).toEqual({ ttlSeconds: 3600, scope: 'admin' });
  });

  it.each([600, 28_800])('accepts %s seconds', (ttlSeconds) => {
    expect(parseKubeconfigRequest({ ttlSeconds })).toEqual({ ttlSeconds, scope: 'admin' });
  });

  it.each([0, 599, 28_801, -1, 1e9, 700.5, '1h', [600]])('rejects %p', (ttlSeconds) => {
    expect(wrongPlaces(parseKubeconfigRequest, { ttlSeconds })).toEqual(['/ttlSeconds']);
  });
});

describe('parseConnectionPut', () => {
  it('accepts a missing token, which parseConnectionPost requires', () => {
    expect(parseConnectionPut({ spec: { provider: 'hcloud' } }).spec).toEqual({
      provider: 'hcloud',
      providerConfig: {},
    });
    expect(wrongPlaces(parseConnectionPost, { spec: { provider: 'hcloud' } })).toEqual(['/spec/token']);
  });

  it.each<[string, object, string[]]>([
    ['another provider', { provider: 'aws', token: 'x' }, ['/spec/provider']],
    ['a token with a line break', { provider: 'hcloud', token: 'a\nb' }, ['/spec/token']],
    ['a reference, which belongs in the path', { provider: 'hcloud', token: 'x', ref: 'main' }, ['/spec/ref']],
  ])('rejects %s', (_what, connection, pointers) => {
    expect(wrongPlaces(parseConnectionPut, { spec: connection })).toEqual(pointers);
  });
});

describe('parseNodePoolPut', () => {
  it('accepts a pool specification under `spec`', () => {
    expect(parseNodePoolPut({ spec: pool() }).spec).toEqual(pool());
  });

  it('accepts a pool as returned by GET', () => {
    const read = { ...pool({ source: 'managed', image: {}, minimum: 1, maximum: 2, publicIP: true }) };
    const status = { pet: false, backingReady: null };

    expect(parseNodePoolPut({ ...read, autoscalerPriority: 10, status, resetToDefault: [] }).spec).toEqual(read);
    expect(wrongPlaces(parseNodePoolPut, { ...read, maximum: 'x' })).toEqual(['/maximum']);
    expect(wrongPlaces(parseNodePoolPut, {})).toEqual(['/spec']);
  });

  it('rejects settings made by the service', () => {
    expect(wrongPlaces(parseNodePoolPut, { spec: pool({ autoscalerPriority: 1 }) })).toEqual([
      '/spec/autoscalerPriority',
    ]);
  });
});
