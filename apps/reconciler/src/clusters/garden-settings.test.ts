import { describe, expect, it } from '@jest/globals';
import { gardenSettings } from './garden-settings.js';

describe('settings of a garden', () => {
  const settings = gardenSettings(
    {
      name: 'hcloud',
      regions: [
        { name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: [] }] },
        { name: 'empty', zones: [] },
      ],
      machineTypes: [{ name: 'cax21', cpu: '4', memory: '8Gi', architecture: 'arm64', usable: true }],
    },
    { networkingType: 'cilium', features: new Set() },
  );

  it('name the zone of a region, and none where the catalogue has none', () => {
    expect(['hel1', 'empty', 'fsn1'].map(settings.zoneOf)).toEqual(['hel1-dc2', null, null]);
  });

  it('name the architecture of a machine type, and none for one that is gone', () => {
    expect(['cax21', 'cx11'].map(settings.architectureOf)).toEqual(['arm64', null]);
  });

  it('name the catalogue and the network', () => {
    expect(settings).toMatchObject({ cloudProfileName: 'hcloud', networkingType: 'cilium' });
  });
});
