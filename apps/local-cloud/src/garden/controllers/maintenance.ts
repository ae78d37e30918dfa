import type { CloudProfile, ExpirableVersion } from '../kinds/cloud-profile.js';
import { isPickable } from '../kinds/cloud-profile.js';
import { newest, partsOf, startsWith } from '../kinds/shoot/resolve-version.js';
import type { MachineImage, ShootSpec } from '../kinds/shoot/shoot.js';

/** Field manager of all that Gardener's controller manager writes. */
export const MAINTENANCE_MANAGER = 'gardener-controller-manager';

/**
 * What maintenance makes of a specification (gardener: docs/usage/shoot/shoot_maintenance.md): a version that has expired is
 * raised whatever the Shoot says, another one only when the Shoot leaves its updates to the garden.
 */
export function maintainedSpec(spec: ShootSpec, { spec: offered }: CloudProfile, nowMs: number): ShootSpec {
  const { kubernetesVersion = true, machineImageVersion = true } = spec.maintenance?.autoUpdate ?? {};
  const { kubernetes, provider } = spec;
  const raised = raisedVersion(kubernetes.version, offered.kubernetes.versions, kubernetesVersion, nowMs);
  const workers = provider.workers?.map((worker) => {
    const image = raisedImage(worker.machine.image, offered.machineImages, machineImageVersion, nowMs);
    return image === undefined ? worker : { ...worker, machine: { ...worker.machine, image } };
  });
  return {
    ...spec,
    kubernetes: { ...kubernetes, version: raised },
    provider: workers === undefined ? provider : { ...provider, workers },
  };
}

/** The newest patch; of a minor version that has expired as a whole, that of the next one. */
function raisedVersion(
  version: string,
  offered: readonly ExpirableVersion[],
  isWanted: boolean,
  nowMs: number,
): string {
  if (!isWanted && !hasExpired(version, offered, nowMs)) return version;
  const [major = '1', minor = '0'] = partsOf(version);
  const newestOf = (parts: readonly string[]): string | undefined =>
    newest(offered.filter((each) => isPickable(each, nowMs) && startsWith(each.version, parts)))?.version;
  return newestOf([major, minor]) ?? newestOf([major, String(Number(minor) + 1)]) ?? version;
}

function raisedImage(
  image: MachineImage | undefined,
  offered: CloudProfile['spec']['machineImages'],
  isWanted: boolean,
  nowMs: number,
): MachineImage | undefined {
  const versions = offered.find(({ name }) => name === image?.name)?.versions ?? [];
  if (image === undefined || !(isWanted || hasExpired(image.version ?? '', versions, nowMs))) return image;
  const found = newest(versions.filter((each) => isPickable(each, nowMs)));
  return found === undefined ? image : { ...image, version: found.version };
}

const hasExpired = (version: string, offered: readonly ExpirableVersion[], nowMs: number): boolean =>
  offered.some((each) => each.version === version && Date.parse(each.expirationDate ?? '') <= nowMs);
