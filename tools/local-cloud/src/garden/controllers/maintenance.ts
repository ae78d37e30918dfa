import { type CloudProfile, type ExpirableVersion, isPickable } from '../kinds/cloud-profile.js';
import type { MachineImage, ShootSpec } from '../kinds/shoot/shoot.js';
import { newestIn } from '../kinds/versions.js';

/** Field manager of Gardener's controller manager. */
export const MAINTENANCE_MANAGER = 'gardener-controller-manager';

/**
 * Applies maintenance to a spec (gardener: docs/usage/shoot/shoot_maintenance.md). Expired versions are always raised,
 * other versions only if the Shoot enables automatic updates.
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

/** The newest patch version, or that of the next minor version if the whole minor version has expired. */
function raisedVersion(
  version: string,
  offered: readonly ExpirableVersion[],
  isWanted: boolean,
  nowMs: number,
): string {
  if (!isWanted && !hasExpired(version, offered, nowMs)) return version;
  const [major = '1', minor = '0'] = version.split('.');
  const pickable = offered.filter((each) => isPickable(each, nowMs));
  const found = newestIn(pickable, `${major}.${minor}`) ?? newestIn(pickable, `${major}.${Number(minor) + 1}`);
  return found?.version ?? version;
}

function raisedImage(
  image: MachineImage | undefined,
  offered: CloudProfile['spec']['machineImages'],
  isWanted: boolean,
  nowMs: number,
): MachineImage | undefined {
  const versions = offered.find(({ name }) => name === image?.name)?.versions ?? [];
  if (image === undefined || !(isWanted || hasExpired(image.version ?? '', versions, nowMs))) return image;
  const found = newestIn(versions.filter((each) => isPickable(each, nowMs)));
  return found === undefined ? image : { ...image, version: found.version };
}

const hasExpired = (version: string, offered: readonly ExpirableVersion[], nowMs: number): boolean =>
  offered.some((each) => each.version === version && Date.parse(each.expirationDate ?? '') <= nowMs);
