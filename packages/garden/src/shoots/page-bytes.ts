import { gunzipSync } from 'node:zlib';
import type { AnswerHeaders } from '@corral/wire';
import type { Call } from '../calls/call.js';
import { brokenError, unusableError } from '../calls/call-errors.js';

/** Collects the bytes of one page after another in the same memory: what arrives need not grow old, and costs little garbage collection. */
export interface PageBytes {
  clear(): void;
  add(chunk: Buffer): void;
  /** valid until `clear` */
  all(): Buffer;
}

const firstBytes = 65_536;

export function pageBytes(): PageBytes {
  let kept = Buffer.allocUnsafeSlow(firstBytes);
  let length = 0;
  return {
    clear() {
      length = 0;
    },
    add(chunk) {
      const needed = length + chunk.length;
      if (needed > kept.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * kept.length));
        kept.copy(larger, 0, 0, length);
        kept = larger;
      }
      chunk.copy(kept, length);
      length = needed;
    },
    all: () => kept.subarray(0, length),
  };
}

/**
 * The text of a page that may be compressed. All at once: a page of 500 takes a millisecond.
 *
 * @throws GardenError if it is not compressed as its headers say, or has more than `bytesMax`
 */
export function textOf(call: Call, headers: AnswerHeaders, body: Buffer, bytesMax: number): Buffer {
  if (headers['content-encoding'] !== 'gzip') return body;
  // Memory is taken once if it is not filled to the end.
  const chunkSize = Math.max(firstBytes, Math.min(statedLength(body), bytesMax)) + 1;
  try {
    return gunzipSync(body, { maxOutputLength: bytesMax, chunkSize });
  } catch (error) {
    if (!isTooLarge(error)) throw unusableError(call, 'the answer is not compressed as it says');
    throw brokenError(call, { kind: 'broken', stage: 'answering', cause: 'too_large', bytesMax });
  }
}

/** At its end, a compressed text states its length (RFC 1952). */
const statedLength = (body: Buffer): number => (body.length < 4 ? 0 : body.readUInt32LE(body.length - 4));

const isTooLarge = (error: unknown): boolean => (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
