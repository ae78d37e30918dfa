import { type Shoot, workersOf } from './shoot.js';

const TRUE = 'true';
const SEED = 'name.seed.gardener.cloud/';

/**
 * Notes down in labels which extensions and seeds a Shoot uses (`plugin/pkg/global/extensionlabels`). Labels of
 * extensions stay when they are no longer used, those of seeds do not.
 */
export function setUsageLabels(shoot: Shoot): void {
  const { metadata, spec, status } = shoot;
  const kept = Object.entries(metadata.labels ?? {}).filter(([label]) => !label.startsWith(SEED));
  const seeds = [spec.seedName, status.seedName].filter((name) => name !== undefined);
  const networking = spec.networking?.type;
  const used = [
    `provider.extensions.gardener.cloud/${spec.provider.type}`,
    ...(networking === undefined ? [] : [`networking.extensions.gardener.cloud/${networking}`]),
    ...workersOf(spec).flatMap(({ machine: { image } }) =>
      image?.name === undefined ? [] : [`operatingsystemconfig.extensions.gardener.cloud/${image.name}`],
    ),
    ...seeds.map((name) => SEED + name),
  ];
  metadata.labels = { ...Object.fromEntries(kept), ...Object.fromEntries(used.map((label) => [label, TRUE])) };
}
