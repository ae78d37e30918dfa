import type { CloudProfile, GardenFeature } from '@corral/garden';

/** What a Shoot needs and no team declares. */
export interface GardenSettings {
  readonly cloudProfileName: string;
  /** Of a networking extension, e.g. `calico`. */
  readonly networkingType: string;
  /** What the provider's extension takes beyond the usual is among them. */
  readonly features: ReadonlySet<GardenFeature>;
  /** The zone of a region; null for a region that the catalogue does not have. */
  readonly zoneOf: (region: string) => string | null;
  /** `amd64` or `arm64`; null for a machine type that the catalogue does not have (any more). */
  readonly architectureOf: (machineType: string) => string | null;
}

/** Takes from the catalogue what a Shoot needs. On this provider a region has exactly one zone. */
export function gardenSettings(
  profile: Pick<CloudProfile, 'name' | 'regions' | 'machineTypes'>,
  { networkingType, features }: Pick<GardenSettings, 'networkingType' | 'features'>,
): GardenSettings {
  const zones = new Map(profile.regions.map(({ name, zones }) => [name, zones[0]?.name ?? null]));
  const architectures = new Map(profile.machineTypes.map(({ name, architecture }) => [name, architecture]));
  return {
    cloudProfileName: profile.name,
    ...{ networkingType, features },
    zoneOf: (region) => zones.get(region) ?? null,
    architectureOf: (machineType) => architectures.get(machineType) ?? null,
  };
}
