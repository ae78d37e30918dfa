import type { Readable } from 'node:stream';
import type { JsonObject } from '@corral/contracts';
import { codeOf, parseJsonObject } from '@corral/service';
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

interface WatchRequest {
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

  const patience = openPatience();
  patience.restart(deps.timeoutMs);
  try {
    const { body } = await openStream(deps, call, AbortSignal.any([signal, deps.closing, patience.signal]));
    request.onOpen();
    const lines = createLineCutter(deps.bodyBytesMax);
    const endsAt = performance.now() + timeoutSeconds * 1_000 + graceMs;
    for await (const chunk of chunksOf(body, { call, patience, endsAt, silenceMsMax: request.silenceMsMax })) {
      yield* itemsOf(call, cutOf(lines, chunk, call));
    }
  } catch (error) {
    if (!signal.aborted && !deps.closing.aborted) throw error;
  } finally {
    patience.pause();
  }
}

/** Bounds how long the garden may be silent: neither the whole stream nor what is done with its events. */
interface Patience {
  readonly signal: AbortSignal;
  restart(ms: number): void;
  pause(): void;
}

function openPatience(): Patience {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = () => over.abort(new DOMException('The garden is silent.', 'TimeoutError'));
  return {
    signal: over.signal,
    restart(ms) {
      clearTimeout(timer);
      timer = setTimeout(end, ms);
    },
    pause: () => clearTimeout(timer),
  };
}

/** Yields the chunks of a body. Fails when the next chunk takes longer than `silenceMsMax`. */
async function* chunksOf(
  body: Readable,
  { call, patience, endsAt, silenceMsMax }: { call: Call; patience: Patience; endsAt: number; silenceMsMax: number },
): AsyncGenerator<Buffer, void> {
  const waitForNext = () => patience.restart(Math.max(0, Math.min(silenceMsMax, endsAt - performance.now())));
  try {
    waitForNext();
    for await (const chunk of body) {
      patience.pause();
      yield chunk;
      waitForNext();
    }
  } catch (error) {
    throw unreachableError(call, patience.signal.aborted ? 'nothing came for too long' : `broke (${codeOf(error)})`);
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

const newline = 0x0a;

/** Cuts a stream of bytes into lines. */
interface LineCutter {
  /**
   * @returns the lines that this chunk completed, without their ends and without empty ones
   * @throws RangeError when a line grows beyond the bound
   */
  cut(chunk: Buffer): Buffer[];
}

export function createLineCutter(lineBytesMax: number): LineCutter {
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes > lineBytesMax) throw new RangeError(`A line has more than ${lineBytesMax} bytes.`);
    if (part.length > 0) parts.push(part);
  };
  return {
    cut(chunk) {
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        keep(chunk.subarray(start, end));
        if (bytes > 0) lines.push(Buffer.concat(parts));
        parts = [];
        bytes = 0;
        start = end + 1;
      }
      keep(chunk.subarray(start));
      return lines;
    },
  };
}
