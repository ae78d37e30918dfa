import { type JsonObject, objectIn, objectsIn, textIn, textsIn, wholeIn } from './json.js';

/** The part of a CloudProfile that says what a Shoot may ask for. Quantities are Kubernetes texts such as `4`, `8Gi`. */
export interface CloudProfile {
  name: string;
  /** provider type, e.g. `hcloud` */
  type: string;
  kubernetesVersions: CatalogueVersion[];
  machineTypes: MachineType[];
  images: { name: string; versions: ImageVersion[] }[];
  regions: { name: string; zones: { name: string; unavailableMachineTypes: string[] }[] }[];
  /** most nodes of one Shoot; null: no limit */
  maxNodesTotal: number | null;
}

export interface CatalogueVersion {
  version: string;
  /** `preview`, `supported`, `deprecated`, or with lifecycles also `unavailable` and `expired` */
  classification: string;
  /** RFC 3339; from then on it cannot be newly chosen */
  expirationDate: string | null;
}

export interface ImageVersion extends CatalogueVersion {
  architectures: string[];
}

export interface MachineType {
  name: string;
  cpu: string;
  memory: string;
  architecture: string;
  usable: boolean;
}

/**
 * Reads a CloudProfile; what Gardener leaves out gets Gardener's own default.
 *
 * @param now decides which stage of a version's lifecycle holds
 * @returns null when it has no name
 */
export function parseCloudProfile(value: JsonObject, now: Date): CloudProfile | null {
  const name = textIn(objectIn(value, 'metadata'), 'name');
  if (name === null) return null;
  const spec = objectIn(value, 'spec');
  return {
    name,
    type: textIn(spec, 'type') ?? '',
    kubernetesVersions: objectsIn(objectIn(spec, 'kubernetes'), 'versions').flatMap((v) => parseVersion(v, now)),
    machineTypes: objectsIn(spec, 'machineTypes').flatMap(parseMachineType),
    images: named(spec, 'machineImages').map(([image, imageName]) => ({
      name: imageName,
      versions: objectsIn(image, 'versions').flatMap((version) => parseImageVersion(version, now)),
    })),
    regions: named(spec, 'regions').map(([region, regionName]) => ({
      name: regionName,
      zones: named(region, 'zones').map(([zone, zoneName]) => ({
        name: zoneName,
        unavailableMachineTypes: textsIn(zone, 'unavailableMachineTypes'),
      })),
    })),
    maxNodesTotal: wholeIn(objectIn(spec, 'limits'), 'maxNodesTotal'),
  };
}

function named(value: JsonObject, key: string): [JsonObject, string][] {
  return objectsIn(value, key).flatMap((element) => {
    const name = textIn(element, 'name');
    return name === null ? [] : [[element, name] as [JsonObject, string]];
  });
}

/** Newer gardens say with `lifecycle` what older ones say with `classification` and `expirationDate`. */
function parseVersion(value: JsonObject, now: Date): CatalogueVersion[] {
  const version = textIn(value, 'version');
  if (version === null) return [];
  const stages = objectsIn(value, 'lifecycle');
  if (stages.length === 0) {
    const classification = textIn(value, 'classification') ?? 'supported';
    return [{ version, classification, expirationDate: textIn(value, 'expirationDate') }];
  }
  const begun = stages.filter((stage) => Date.parse(textIn(stage, 'startTime') ?? '1970-01-01') < now.getTime());
  const expired = stages.find((stage) => stage.classification === 'expired');
  const classification = textIn(begun.at(-1) ?? {}, 'classification') ?? 'unavailable';
  return [{ version, classification, expirationDate: expired === undefined ? null : textIn(expired, 'startTime') }];
}

function parseImageVersion(value: JsonObject, now: Date): ImageVersion[] {
  return parseVersion(value, now).map((version) => ({ ...version, architectures: architecturesOf(value) }));
}

/** With machine capabilities, the architectures stand in the flavors of an image and not beside them. */
function architecturesOf(image: JsonObject): string[] {
  const flavors = objectsIn(image, 'capabilityFlavors').flatMap((flavor) => textsIn(flavor, 'architecture'));
  const architectures = [...new Set([...textsIn(image, 'architectures'), ...flavors])];
  return architectures.length === 0 ? ['amd64'] : architectures;
}

function parseMachineType(value: JsonObject): MachineType[] {
  const name = textIn(value, 'name');
  if (name === null) return [];
  const architecture =
    textIn(value, 'architecture') ?? textsIn(objectIn(value, 'capabilities'), 'architecture')[0] ?? 'amd64';
  return [
    { name, cpu: quantity(value.cpu), memory: quantity(value.memory), architecture, usable: value.usable !== false },
  ];
}

/** A quantity may come as a number. */
function quantity(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '0';
}
