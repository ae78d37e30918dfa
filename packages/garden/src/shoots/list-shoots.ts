import { createElementCutter, parseJsonObject } from '@corral/wire';
import { type BodyReader, type Call, type CallDeps, performReading } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, textIn } from '../calls/json.js';
import { query, shootsPath } from '../calls/paths.js';
import { listCall } from '../calls/requests.js';
import type { ShootPage } from '../client.js';
import { parseShoot, type Shoot } from './shoot.js';

/** Which page of which Shoots. */
export interface PageRequest {
  readonly labelSelector: string;
  readonly limit?: number;
  readonly continue?: string | null;
}

/** Parses each Shoot as soon as it has arrived, and keeps only the fields in use. */
export const listShoots = (deps: CallDeps, list: PageRequest, signal?: AbortSignal): Promise<ShootPage> =>
  listEach((shoot) => shoot, deps, list, signal);

/** As `listShoots`, and keeps only what `summarize` makes of each Shoot. */
export function listEach<S>(
  summarize: (shoot: Shoot) => S,
  deps: CallDeps,
  list: PageRequest,
  signal?: AbortSignal,
): Promise<ShootPage<S>> {
  const call = pageCall(list);
  const take = (text: Buffer): S => summarize(readShoot(call, text));
  return performReading(deps, call, () => readPage(call, take), signal);
}

export function pageCall({ labelSelector, limit = 500, continue: token = null }: PageRequest): Call {
  return listCall('shoots', `${shootsPath}${query({ labelSelector, limit, continue: token })}`);
}

export function readShoot(call: Call, text: Buffer): Shoot {
  const shoot = parseShoot(parseJsonObject(text));
  // Skipping it would make callers treat the Shoot as deleted.
  if (shoot === null) throw unusableError(call, 'an element is no object with metadata');
  return shoot;
}

/** Reads a page, and takes each of its elements when it has arrived. */
export function readPage<S>(call: Call, take: (text: Buffer) => S): BodyReader<ShootPage<S>> {
  const cutter = createElementCutter('items');
  const shoots: S[] = [];
  return {
    take(chunk) {
      for (const text of cutter.cut(chunk)) shoots.push(take(text));
    },
    end: () => ({ shoots, ...parseListHead(call, cutter.remainder()) }),
  };
}

/** @param text a list without its elements */
export function parseListHead(call: Call, text: Buffer): Omit<ShootPage<never>, 'shoots'> {
  const body = parseJsonObject(text);
  const metadata = objectIn(body, 'metadata');
  const resourceVersion = textIn(metadata, 'resourceVersion');
  // Go may encode an empty list as null.
  const isList = body !== null && (Array.isArray(body.items) || body.items === null);
  if (resourceVersion === null || !isList) throw unusableError(call, 'the answer is no list');
  return { resourceVersion, continue: textIn(metadata, 'continue') };
}
