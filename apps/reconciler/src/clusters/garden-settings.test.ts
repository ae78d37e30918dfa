import { describe, expect, it } from '@jest/globals';
import { gardenSettings } from './render-shoot.js';

describe('garden settings', () => {
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

  it('return the zone of a region, or null when the catalogue has none', () => {
    expect(['hel1', 'empty', 'fsn1'].map(settings.zoneOf)).toEqual(['hel1-dc2', null, null]);
  });

  it('return the architecture of a machine type, or null for an unknown one', () => {
    expect(['cax21', 'cx11'].map(settings.architectureOf)).toEqual(['arm64', null]);
  });

  it('contain the cloud profile and the networking type', () => {
    expect(settings).toMatchObject({ cloudProfileName: 'hcloud', networkingType: 'cilium' });
  });
});
