import { isObject, type JsonObject } from '@corral/contracts';
import { unusableError } from '../calls/call-errors.js';
import { type Named, query } from '../calls/paths.js';
import { listCall, ofShoot, readList } from '../calls/requests.js';
import type { ShootAccesses } from './shoot-access.js';

interface ListedResource {
  readonly resource: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly pageSize: number;
  /** A list with more pages fails as `unusable`. */
  readonly pagesMax?: number;
  /** the objects are secret: errors keep none of the server's text */
  readonly confidential?: boolean;
}

/** Lists all objects of a resource in a Shoot. `take` reduces them page by page and drops those it maps to null. */
export async function listAll<T>(
  accesses: ShootAccesses,
  shoot: Named,
  { resource, path, pageSize, pagesMax = Number.POSITIVE_INFINITY, confidential = false, ...listed }: ListedResource,
  take: (object: JsonObject) => T | null,
  signal?: AbortSignal,
): Promise<T[]> {
  const taken: T[] = [];
  let next: string | null = null;
  let pages = 0;
  do {
    const page = `${path}${query({ ...listed.query, limit: pageSize, continue: next })}`;
    const call = { ...ofShoot(listCall(resource, page)), confidential };
    const { body } = await accesses.perform(shoot, call, signal);
    const list = readList(call, body);
    for (const item of list.items) {
      const one = isObject(item) ? take(item) : null;
      if (one !== null) taken.push(one);
    }
    next = list.next;
    pages += 1;
    if (next !== null && pages === pagesMax) throw unusableError(call, `the list has more than ${pages} pages`);
  } while (next !== null);
  return taken;
}
