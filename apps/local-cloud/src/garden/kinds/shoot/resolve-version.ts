import { type FieldError, invalid } from '../../kube/field-error.js';
import { type CloudProfile, isPickable } from '../cloud-profile.js';
import { compareVersions } from '../versions.js';

/** The numbers of a version that may be given in part. */
export const partsOf = (version: string): string[] =>
  version
    .replace(/^v/, '')
    .split('.')
    .filter((part) => part !== '');

/** Whether a full version begins with these numbers. */
export function startsWith(version: string, parts: readonly string[]): boolean {
  const known = partsOf(version);
  return parts.every((part, index) => Number(part) === Number(known[index]));
}

export const newest = <V extends { readonly version: string }>(versions: readonly V[]): V | undefined =>
  [...versions].sort((a, b) => compareVersions(b.version, a.version))[0];

/**
 * Expands `1.34`, `1` or nothing to the newest version that fits; a full version stays as it is.
 *
 * @returns the full version, or why there is none
 */
export function resolveVersion(
  { spec }: CloudProfile,
  wanted: string,
  field: string,
  nowMs: number,
): string | FieldError {
  if (wanted.split('.').length === 3) return wanted;
  const parts = partsOf(wanted);
  if (parts.some((part) => !/^\d+$/.test(part))) return invalid(field, wanted, 'must be a semantic version');
  const fitting = spec.kubernetes.versions.filter(
    (version) => isPickable(version, nowMs) && startsWith(version.version, parts),
  );
  const why = `couldn't find a suitable version for ${wanted}. Suitable versions have a non-expired expiration date and are no 'preview' versions. 'Preview'-classified versions have to be selected explicitly`;
  return newest(fitting)?.version ?? invalid(field, wanted, why);
}
