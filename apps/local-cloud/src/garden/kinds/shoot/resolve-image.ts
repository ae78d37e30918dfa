import { type FieldError, invalid } from '../../kube/field-error.js';
import { type CloudProfile, isPickable } from '../cloud-profile.js';
import { newest, partsOf, startsWith } from './resolve-version.js';
import type { MachineImage, Worker } from './shoot.js';

type OfferedImage = CloudProfile['spec']['machineImages'][number];

/**
 * Finds the image of a pool: it keeps its own unless another is asked for; a new pool gets the newest that fits its
 * architecture.
 *
 * @param current the pool's image so far
 * @returns the image with its full version, or why there is none
 */
export function resolveImage(
  { spec: { machineImages } }: CloudProfile,
  { machine }: Worker,
  current: MachineImage | undefined,
  field: string,
  nowMs: number,
): MachineImage | FieldError {
  const wanted = machine.image;
  if (current !== undefined && keeps(wanted, current)) return { ...current, ...providerConfigOf(wanted ?? current) };
  const architecture = machine.architecture ?? 'amd64';
  const runs = ({ architectures = ['amd64'] }: OfferedImage['versions'][number]): boolean =>
    architectures.includes(architecture);

  const { name = '', version = '' } = wanted ?? {};
  const image =
    name === ''
      ? machineImages.find(({ versions }) => versions.some(runs))
      : machineImages.find((offered) => offered.name === name);
  if (image === undefined) {
    const none = `no valid machine image found that supports architecture \`${architecture}\``;
    return name === '' ? invalid(field, `@${version}`, none) : invalid(field, name, 'image is not supported');
  }
  const parts = partsOf(version);
  const isFull = parts.length === 3 || image.versions.some((offered) => offered.version === version);
  if (isFull && wanted !== undefined) return wanted;
  const found = newest(
    image.versions.filter(
      (offered) => runs(offered) && isPickable(offered, nowMs) && startsWith(offered.version, parts),
    ),
  );
  if (found !== undefined) return { name: image.name, ...providerConfigOf(wanted), version: found.version };
  const why = 'failed to determine latest machine image from cloud profile: no latest machine image found';
  return invalid(field, `${image.name}@${version}`, why);
}

/** An image that is not spoken of, or spoken of as it is, stays. */
function keeps(wanted: MachineImage | undefined, current: MachineImage): boolean {
  if (wanted === undefined) return true;
  const { name, version = '' } = wanted;
  return name === current.name && (version === '' || version === current.version);
}

const providerConfigOf = (image: MachineImage | undefined): Pick<MachineImage, 'providerConfig'> =>
  image?.providerConfig === undefined ? {} : { providerConfig: image.providerConfig };
