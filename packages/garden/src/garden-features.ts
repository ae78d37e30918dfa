import { wordsOf } from '@corral/service';

/**
 * What gardens can do that not all of them do. `existing-network`, `image-options` and `private-nodes` want a provider
 * extension that takes the fields which a Shoot then has.
 */
export const gardenFeatures = [
  ...(['adopted-nodes', 'arm64', 'control-plane-ha'] as const),
  ...(['existing-network', 'image-options', 'private-nodes'] as const),
] as const;
export type GardenFeature = (typeof gardenFeatures)[number];

/** The variable of every service that judges specifications or renders them. Those of an installation have the same. */
export const gardenFeaturesVariable = wordsOf(gardenFeatures, {
  default: ['control-plane-ha'],
  desc: `Comma-separated list of optional features that this garden supports: ${gardenFeatures.map((name) => `\`${name}\``).join(', ')}.`,
});
