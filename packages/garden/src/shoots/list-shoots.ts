import { createElementCutter, parseJsonObject } from '@corral/wire';
import { type BodyReader, type Call, type CallDeps, performReading } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, textIn } from '../calls/json.js';
import { query, shootsPath } from '../calls/paths.js';
import { listCall } from '../calls/requests.js';
import type { ShootPage } from '../client.js';
import { parseShoot, type Shoot } from './shoot.js';

export function listShoots(
  deps: CallDeps,
  list: { labelSelector: string; limit?: number; continue?: string | null },
  signal?: AbortSignal,
): Promise<ShootPage> {
  const { labelSelector, limit = 500, continue: token = null } = list;
  const path = `${shootsPath}${query({ labelSelector, limit, continue: token })}`;
  const call = listCall('shoots', path);
  return performReading(deps, call, () => readPage(call), signal);
}

/** Parses each Shoot as soon as it has arrived, and keeps only the fields in use. */
function readPage(call: Call): BodyReader<ShootPage> {
  const cutter = createElementCutter('items');
  const shoots: Shoot[] = [];
  return {
    take(chunk) {
      for (const text of cutter.cut(chunk)) {
        const shoot = parseShoot(parseJsonObject(text));
        // Skipping it would make callers treat the Shoot as deleted.
        if (shoot === null) throw unusableError(call, 'an element is no object with metadata');
        shoots.push(shoot);
      }
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
