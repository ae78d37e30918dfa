import { createHash } from 'node:crypto';
import { createElementCutter, parseJsonObject } from '@corral/wire';
import { type BodyReader, type Call, type CallDeps, performReading } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, textIn } from '../calls/json.js';
import { query, shootsPath } from '../calls/paths.js';
import { listCall } from '../calls/requests.js';
import type { ListedShoot, ShootPage } from '../client.js';
import { parseShoot, type Shoot } from './shoot.js';

interface ShootList {
  readonly labelSelector: string;
  readonly limit?: number;
  readonly continue?: string | null;
}

/** Parses each Shoot as soon as it has arrived, and keeps only the fields in use. */
export const listShoots = (deps: CallDeps, list: ShootList, signal?: AbortSignal): Promise<ShootPage> =>
  listAs(readShoot, deps, list, signal);

/** Keeps the texts of the Shoots until they are read. */
export const listUnreadShoots = (
  deps: CallDeps,
  list: ShootList,
  signal: AbortSignal,
): Promise<ShootPage<ListedShoot>> =>
  listAs(
    (call, text) => ({
      digest: createHash('sha256').update(text).digest('base64'),
      read: () => readShoot(call, text),
    }),
    deps,
    list,
    signal,
  );

function listAs<S>(
  take: (call: Call, text: Buffer) => S,
  deps: CallDeps,
  { labelSelector, limit = 500, continue: token = null }: ShootList,
  signal?: AbortSignal,
): Promise<ShootPage<S>> {
  const path = `${shootsPath}${query({ labelSelector, limit, continue: token })}`;
  const call = listCall('shoots', path);
  return performReading(deps, call, () => readPage(call, take), signal);
}

function readShoot(call: Call, text: Buffer): Shoot {
  const shoot = parseShoot(parseJsonObject(text));
  // Skipping it would make callers treat the Shoot as deleted.
  if (shoot === null) throw unusableError(call, 'an element is no object with metadata');
  return shoot;
}

function readPage<S>(call: Call, take: (call: Call, text: Buffer) => S): BodyReader<ShootPage<S>> {
  const cutter = createElementCutter('items');
  const shoots: S[] = [];
  return {
    take(chunk) {
      for (const text of cutter.cut(chunk)) shoots.push(take(call, text));
    },
    end() {
      const body = parseJsonObject(cutter.remainder());
      const metadata = objectIn(body, 'metadata');
      const resourceVersion = textIn(metadata, 'resourceVersion');
      // Go may encode an empty list as null.
      const isList = body !== null && (Array.isArray(body.items) || body.items === null);
      if (resourceVersion === null || !isList) throw unusableError(call, 'the answer is no list');
      return { shoots, resourceVersion, continue: textIn(metadata, 'continue') };
    },
  };
}
