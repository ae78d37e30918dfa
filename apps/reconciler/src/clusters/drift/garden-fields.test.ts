import { describe, expect, it } from '@jest/globals';
import { aDesired, aPool, settings } from '../../../test/support/a-cluster.js';
import { renderShoot } from '../render.js';
import { apiFieldOf } from './garden-fields.js';

const desired = aDesired({
  pools: [
    aPool({ name: 'idle', workerName: 'p0', minimum: 0, maximum: 0 }),
    aPool({ name: 'general', workerName: 'p1' }),
    aPool({ name: 'gpu', workerName: 'p2' }),
  ],
});

describe('a Shoot field', () => {
  it.each([
    ['spec.kubernetes.version', '/spec/kubernetesVersion', 'kubernetesVersion'],
    ['.spec.hibernation.enabled', '/spec/hibernated', 'hibernated'],
    ['spec.region', '/spec/region', 'region'],
    ['spec.credentialsBindingName', '/spec/connectionRef', 'connectionRef'],
    ['spec.controlPlane.highAvailability.failureTolerance.type', '/spec/controlPlaneHA', 'controlPlaneHA'],
    ['spec.networking.nodes', '/spec/network/nodeCIDR', 'network.nodeCIDR'],
    ['spec.provider.infrastructureConfig.networks', '/spec/network/nodeCIDR', 'network.nodeCIDR'],
    [
      'spec.provider.infrastructureConfig.networks.existingNetwork',
      '/spec/network/existingNetwork',
      'network.existingNetwork',
    ],
    ['spec.provider.workers[0].providerConfig', '/spec/nodePools/1/publicIP', 'publicIP of node pool general'],
    ['spec.networking.pods', '/spec/network/podCIDR', 'network.podCIDR'],
    ['spec.networking.services', '/spec/network/serviceCIDR', 'network.serviceCIDR'],
    ['spec.provider.workers', '/spec/nodePools', 'nodePools'],
    ['spec.provider.workers[0].machine.type', '/spec/nodePools/1/machineType', 'machineType of node pool general'],
    [
      'spec.provider.workers[1].machine.image.version',
      '/spec/nodePools/2/image/version',
      'image.version of node pool gpu',
    ],
    ['spec.provider.workers[1].machine.image', '/spec/nodePools/2/image', 'image of node pool gpu'],
    ['.spec.provider.workers[name="p2"].maximum', '/spec/nodePools/2/maximum', 'maximum of node pool gpu'],
    ['spec.provider.workers[0].minimum', '/spec/nodePools/1/minimum', 'minimum of node pool general'],
    ['spec.provider.workers[0].zones', '/spec/nodePools/1', 'node pool general'],
    ['spec.provider.workers[0]', '/spec/nodePools/1', 'node pool general'],
  ])('%s maps to %s', (path, pointer, name) => {
    expect(apiFieldOf(path, desired)).toEqual({ pointer, name });
  });

  it.each([
    'spec.purpose',
    'spec.kubernetesX',
    'spec.provider.workers[9].minimum',
    '.spec.provider.workers[name="x"].minimum',
    '',
  ])('outside the declaration has no API field: "%s"', (path) => {
    expect(apiFieldOf(path, desired)).toBeNull();
  });

  it('is mapped for every field rendered from the declaration', () => {
    const rendered = pathsOf(renderShoot(desired, settings).spec, 'spec');
    const ours = /^spec\.(cloudProfile|maintenance|networking\.type|provider\.type)/;

    expect(rendered.filter((path) => !ours.test(path) && apiFieldOf(path, desired) === null)).toEqual([]);
  });
});

function pathsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, member]) =>
    pathsOf(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`),
  );
}
