import type { IncomingMessage } from 'node:http';
import { codeOf, createLineCutter, type Deadline, type JsonObject, parseJsonObject, startDeadline } from '@corral/wire';
import { type Call, type CallDeps, openStream } from '../calls/call.js';
import { failureError, unreachableError, unusableError } from '../calls/call-errors.js';
import { objectIn, textIn, wholeIn } from '../calls/json.js';
import { query, shootsPath } from '../calls/paths.js';
import { getCall } from '../calls/requests.js';
import { parseShoot, type Shoot } from './shoot.js';

/** An item of a watch. The next watch continues from the newest version. */
export type WatchItem =
  | { type: 'changed' | 'gone'; resourceVersion: string; shoot: Shoot }
  | { type: 'bookmark'; resourceVersion: string };

export interface WatchRequest {
  labelSelector: string;
  resourceVersion: string;
  /** the garden ends the watch after this time */
  timeoutSeconds: number;
  silenceMsMax: number;
  signal: AbortSignal;
  onOpen: () => void;
}

/** Time after which a watch counts as lost if the garden has not ended it. */
const graceMs = 5_000;

/**
 * Follows one watch until the garden ends it or the signal is aborted. Yields the items that came together. Reads nothing while
 * they are processed, which applies backpressure to the garden.
 *
 * @throws GardenError `expired` when the version is too old, `unreachable` when it breaks or falls silent
 */
export async function* streamShoots(deps: CallDeps, request: WatchRequest): AsyncGenerator<WatchItem[], void> {
  const { labelSelector, resourceVersion, timeoutSeconds, signal } = request;
  const parameters = { watch: 'true', allowWatchBookmarks: 'true', labelSelector, resourceVersion, timeoutSeconds };
  const path = `${shootsPath}${query(parameters)}`;
  const call: Call = { ...getCall('shoots', path), verb: 'watch', confidential: true };

  const deadline = startDeadline(deps.timeoutMs, [signal, deps.closing]);
  try {
    const { body } = await openStream(deps, call, deadline);
    request.onOpen();
    const lines = createLineCutter(deps.bodyBytesMax);
    const endsAt = performance.now() + timeoutSeconds * 1_000 + graceMs;
    for await (const chunk of chunksOf(body, { call, deadline, endsAt, silenceMsMax: request.silenceMsMax })) {
      yield* itemsOf(call, cutOf(lines, chunk, call));
    }
  } catch (error) {
    if (deadline.cause() !== 'caller') throw error;
  } finally {
    deadline.end();
  }
}

/** Yields the chunks of a body. Fails when the next chunk takes longer than `silenceMsMax`. */
async function* chunksOf(
  body: IncomingMessage,
  { call, deadline, endsAt, silenceMsMax }: { call: Call; deadline: Deadline; endsAt: number; silenceMsMax: number },
): AsyncGenerator<Buffer, void> {
  const waitForNext = () => deadline.restart(Math.max(0, Math.min(silenceMsMax, endsAt - performance.now())));
  try {
    waitForNext();
    for await (const chunk of body) {
      deadline.pause();
      yield chunk;
      waitForNext();
    }
  } catch (error) {
    throw unreachableError(
      call,
      deadline.cause() === 'time' ? 'nothing came for too long' : `broke (${codeOf(error)})`,
    );
  }
}

function cutOf(lines: ReturnType<typeof createLineCutter>, chunk: Buffer, call: Call): Buffer[] {
  try {
    return lines.cut(chunk);
  } catch {
    throw unusableError(call, 'an event is too large');
  }
}

/** Yields the items of a chunk together, and those before an unusable line before it fails. */
function* itemsOf(call: Call, lines: readonly Buffer[]): Generator<WatchItem[], void> {
  const items: WatchItem[] = [];
  try {
    for (const line of lines) {
      const item = itemOf(call, line);
      if (item !== null) items.push(item);
    }
  } catch (error) {
    if (items.length > 0) yield items;
    throw error;
  }
  if (items.length > 0) yield items;
}

/** @returns null for an event of an unknown type */
function itemOf(call: Call, line: Buffer): WatchItem | null {
  const event = parseJsonObject(line);
  if (event === null) throw unusableError(call, 'an event is no JSON object');
  const object = objectIn(event, 'object');
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      return shootItem(call, 'changed', object);
    case 'DELETED':
      return shootItem(call, 'gone', object);
    case 'BOOKMARK': {
      const resourceVersion = textIn(objectIn(object, 'metadata'), 'resourceVersion');
      return resourceVersion === null ? null : { type: 'bookmark', resourceVersion };
    }
    case 'ERROR':
      throw failureError(call, { status: wholeIn(object, 'code') ?? 500, headers: {}, body: object });
    default:
      return null;
  }
}

function shootItem(call: Call, type: 'changed' | 'gone', object: JsonObject): WatchItem {
  const shoot = parseShoot(object);
  if (shoot === null) throw unusableError(call, 'an event without metadata');
  return { type, shoot, resourceVersion: shoot.metadata.resourceVersion };
}
