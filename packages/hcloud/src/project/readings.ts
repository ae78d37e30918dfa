import { isObject, type JsonObject } from '@corral/contracts';
import { isId, type JsonBody } from '../exchange.js';

export type Labels = Readonly<Record<string, string>>;
export type Architecture = 'amd64' | 'arm64';

/** A server as the provider reports it, in our terms. */
export interface ServerReading {
  readonly id: number;
  readonly name: string;
  /** The provider's word, such as `running` or `migrating`. */
  readonly status: string;
  /** An action runs that nothing may be done beside. */
  readonly isLocked: boolean;
  readonly serverType: string;
  readonly architecture: Architecture;
  readonly location: string;
  readonly labels: Labels;
  /** Null: it runs from an image that is gone, or from none. */
  readonly imageId: number | null;
  readonly isRebuildProtected: boolean;
  readonly isInRescue: boolean;
  readonly hasIso: boolean;
  /** GB. */
  readonly diskGb: number;
  /** The addresses at which it can be reached from outside: one of IPv4, and a network of IPv6. */
  readonly publicAddresses: readonly string[];
}

/** What the provider does with a server. */
export interface ActionReading {
  readonly id: number;
  /** The name of the action, such as `rebuild_server`. */
  readonly command: string;
  readonly status: 'running' | 'success' | 'error';
  /** 0 to 100. */
  readonly progress: number;
  /** The start in whole seconds. */
  readonly startedAt: Date;
  /** The code of a failed one, for people. */
  readonly errorCode: string | null;
}

export interface ImageReading {
  readonly id: number;
  readonly name: string;
  readonly architecture: Architecture;
  /** GB that a disk must have. */
  readonly diskGb: number;
}

const architectures: Readonly<Record<string, Architecture>> = { x86: 'amd64', arm: 'arm64' };
/** The provider's word for an architecture. */
export const providerArchitecture = { amd64: 'x86', arm64: 'arm' } as const satisfies Record<Architecture, string>;

/*
 * Parsers of what is relied upon and nothing else, so that fields of tomorrow pass. Undefined means that the body is not
 * what was asked for.
 */

export function parseServer({ value: { server } }: JsonBody, id: number): ServerReading | undefined {
  return isObject(server) && server.id === id ? serverOf(server) : undefined;
}

export function parseServers({ value: { servers } }: JsonBody): ServerReading[] | undefined {
  return allOf(servers, serverOf);
}

function serverOf(server: JsonObject): ServerReading | undefined {
  const {
    id,
    name,
    status,
    locked,
    server_type: type,
    location,
    labels,
    image,
    protection,
    rescue_enabled,
    iso,
  } = server;
  if (!isObject(type) || !isObject(location) || !isObject(labels) || !isObject(protection)) return undefined;
  const architecture = architectures[String(type.architecture)];
  const diskGb = server.primary_disk_size;
  if (!isId(id) || architecture === undefined || !isNumber(diskGb) || typeof locked !== 'boolean') return undefined;
  if (![name, status, type.name, location.name, ...Object.values(labels)].every(isText)) return undefined;
  return {
    id,
    architecture,
    diskGb,
    isLocked: locked,
    labels: labels as Labels,
    name: name as string,
    status: status as string,
    serverType: type.name as string,
    location: location.name as string,
    imageId: isObject(image) && isId(image.id) ? image.id : null,
    isRebuildProtected: protection.rebuild === true,
    isInRescue: rescue_enabled === true,
    hasIso: isObject(iso),
    publicAddresses: publicAddressesOf(server.public_net),
  };
}

/** A server without a public network has none. */
function publicAddressesOf(network: unknown): string[] {
  if (!isObject(network)) return [];
  return [network.ipv4, network.ipv6].flatMap((each) => (isObject(each) && isText(each.ip) ? String(each.ip) : []));
}

/** Whether a list of servers has any. */
export function parseIsAny({ value: { servers } }: JsonBody): boolean | undefined {
  return Array.isArray(servers) ? servers.length > 0 : undefined;
}

export function parseAction(body: JsonBody, id?: number): ActionReading | undefined {
  const action = isObject(body.value.action) ? actionOf(body.value.action) : undefined;
  return id === undefined || action?.id === id ? action : undefined;
}

/** One page of a server's actions. Undefined for garbage, which must not look like an empty list. */
export function parseServerActions(body: JsonBody): ActionReading[] | undefined {
  return allOf(body.value.actions, actionOf);
}

/** The image of that name for that architecture; null when there is none. */
export function parseImages(body: JsonBody, name: string, architecture: Architecture): ImageReading | null | undefined {
  const images = allOf(body.value.images, imageOf);
  if (images === undefined) return undefined;
  return images.find((image) => image.name === name && image.architecture === architecture) ?? null;
}

function actionOf({ id, command, status, progress, started, error }: JsonObject): ActionReading | undefined {
  const startedMs = Date.parse(String(started));
  if (!isId(id) || !isText(command) || Number.isNaN(startedMs)) return undefined;
  if (status !== 'running' && status !== 'success' && status !== 'error') return undefined;
  return {
    id,
    command,
    status,
    progress: isNumber(progress) ? Math.min(100, Math.max(0, progress)) : 0,
    startedAt: new Date(startedMs),
    errorCode: isObject(error) && isText(error.code) ? error.code : null,
  };
}

function imageOf({ id, name, architecture, disk_size: diskGb }: JsonObject): ImageReading | undefined {
  const known = architectures[String(architecture)];
  if (!isId(id) || known === undefined || !isNumber(diskGb)) return undefined;
  // Snapshots have no name.
  return { id, name: isText(name) ? name : '', architecture: known, diskGb };
}

function allOf<T>(values: unknown, parse: (value: JsonObject) => T | undefined): T[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const parsed = values.map((value: unknown) => (isObject(value) ? parse(value) : undefined));
  return parsed.every((value) => value !== undefined) ? (parsed as T[]) : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
