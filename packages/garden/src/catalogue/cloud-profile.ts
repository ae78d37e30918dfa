import type { JsonObject } from '@corral/contracts';
import { type CallDeps, perform } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, objectsIn, textIn, textsIn, wholeIn } from '../calls/json.js';
import { cloudProfilePath } from '../calls/paths.js';
import { getCall } from '../calls/requests.js';

/** The part of a CloudProfile that lists what a Shoot may use. Quantities are Kubernetes texts such as `4`, `8Gi`. */
export interface CloudProfile {
  name: string;
  /** provider type, e.g. `hcloud` */
  type: string;
  kubernetesVersions: CatalogueVersion[];
  machineTypes: MachineType[];
  images: { name: string; versions: ImageVersion[] }[];
  regions: { name: string; zones: { name: string; unavailableMachineTypes: string[] }[] }[];
  /** maximum number of nodes of one Shoot; null: no limit */
  maxNodesTotal: number | null;
}

export interface CatalogueVersion {
  version: string;
  /** `preview`, `supported`, `deprecated`, or with lifecycles also `unavailable` and `expired` */
  classification: string;
  /** RFC 3339; from then on, new selections are refused */
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
 * Reads a CloudProfile. Absent fields get Gardener's defaults.
 *
 * @param now selects the current stage of a version's lifecycle
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

/** Newer gardens have `lifecycle` in place of `classification` and `expirationDate`. */
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

/** With machine capabilities, the flavors of an image list its architectures. */
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

export async function readCloudProfile(deps: CallDeps, name: string, signal?: AbortSignal): Promise<CloudProfile> {
  const call = getCall('cloudprofiles', cloudProfilePath(name));
  const { body, date } = await perform(deps, call, signal);
  const profile = parseCloudProfile(body, date ?? new Date());
  if (profile === null) throw unusableError(call, "the answer has no object's metadata");
  return profile;
}

/** Reads the CloudProfile, which every authenticated user may do; only its metadata where the server supports that. */
export async function ping(deps: CallDeps, name: string, signal?: AbortSignal): Promise<void> {
  const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
  const call = { ...getCall('cloudprofiles', cloudProfilePath(name)), accept };
  const { body } = await perform(deps, call, signal);
  if (objectIn(body, 'metadata').name !== name) throw unusableError(call, 'the answer is about something else');
}
