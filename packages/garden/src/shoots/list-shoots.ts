import { type CallDeps, perform } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { query, shootsPath } from '../calls/paths.js';
import { listCall, readList } from '../calls/requests.js';
import type { ShootPage } from '../client.js';
import { parseShoot } from './shoot.js';

/** Which page of which Shoots. */
export interface PageRequest {
  readonly labelSelector: string;
  readonly limit?: number | undefined;
  readonly continue?: string | null;
}

/** Reads a page, and keeps of each Shoot only the fields in use. */
export async function listShoots(
  deps: CallDeps,
  { labelSelector, limit = 500, continue: token = null }: PageRequest,
  signal?: AbortSignal,
): Promise<ShootPage> {
  const call = listCall('shoots', `${shootsPath}${query({ labelSelector, limit, continue: token })}`);
  const { body } = await perform(deps, call, signal);
  const { items, resourceVersion, next } = readList(call, body);
  if (resourceVersion === null) throw unusableError(call, 'the answer is no list');
  const shoots = items.map((item) => {
    const shoot = parseShoot(item);
    // Skipping it would make callers treat the Shoot as deleted.
    if (shoot === null) throw unusableError(call, 'an element is no object with metadata');
    return shoot;
  });
  return { shoots, resourceVersion, continue: next };
}
