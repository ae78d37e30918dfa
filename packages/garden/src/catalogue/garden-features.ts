import { wordsOf } from '@corral/service';

/**
 * Optional features of gardens. `existing-network`, `image-options` and `private-nodes` need a provider extension that
 * accepts the corresponding fields of a Shoot.
 */
export const gardenFeatures = [
  'adopted-nodes',
  'arm64',
  'control-plane-ha',
  'existing-network',
  'image-options',
  'private-nodes',
] as const;
export type GardenFeature = (typeof gardenFeatures)[number];

/** A variable of every service that validates or renders specifications. Set the same value for all services of an installation. */
export const gardenFeaturesVariable = wordsOf(gardenFeatures, {
  default: ['control-plane-ha'],
  desc: `Comma-separated list of optional features that this garden supports: ${gardenFeatures.map((name) => `\`${name}\``).join(', ')}.`,
});
