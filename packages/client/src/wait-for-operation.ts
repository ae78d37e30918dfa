import { CorralError, isCorralError } from './corral-error.js';
import type { components } from './generated/cluster-api.js';
import type { OperationRef } from './operation-types.js';

export type Operation = components['schemas']['Operation'];

export interface WaitOptions {
  /** How long to wait, in ms. Default: one hour. */
  readonly timeoutMs?: number;
  /** Gets each new state of the operation, the last one included. */
  readonly onProgress?: (operation: Operation) => void;
  readonly signal?: AbortSignal;
}

/** Reads the operation; the API may hold its answer for so long. */
export type ReadOperation = (
  ref: OperationRef,
  holdSeconds: number,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
) => Promise<{ readonly operation: Operation; readonly retryAfterMs: number | null }>;

const TIMEOUT_MS = 3_600_000;
const HOLD_SECONDS = 30;
/** Between two reports of progress. */
const PROGRESS_SECONDS = 3;
const POLL_MS_MIN = 1_000;
const POLL_MS_MAX = 10_000;
/** The API answers earlier when it is busy or does not hold answers. */
const HELD_PART = 0.5;

/**
 * Waits until an operation has ended, whichever way.
 *
 * @throws CorralError `timeout`, with the operation as its body; also when the operation cannot be read for good
 */
export async function waitUntilEnded(
  read: ReadOperation,
  pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>,
  ref: OperationRef,
  { timeoutMs = TIMEOUT_MS, onProgress, signal }: WaitOptions,
): Promise<Operation> {
  const endsAt = performance.now() + timeoutMs;
  let last: Operation | null = null;
  for (let early = 0; ; early += 1) {
    const startedAt = performance.now();
    const leftMs = endsAt - startedAt;
    const holdSeconds = Math.floor(Math.min(onProgress ? PROGRESS_SECONDS : HOLD_SECONDS, leftMs / 1_000));
    let pauseMs = POLL_MS_MIN * 1.5 ** early * (0.75 + Math.random() / 2);
    try {
      const { operation, retryAfterMs } = await read(ref, holdSeconds, { timeoutMs: leftMs, signal });
      if (JSON.stringify(operation) !== JSON.stringify(last)) onProgress?.(operation);
      last = operation;
      if (!isOpen(operation)) return operation;
      const isHeld = performance.now() - startedAt >= holdSeconds * 1_000 * HELD_PART;
      if (retryAfterMs !== null) pauseMs = retryAfterMs;
      else if (isHeld && holdSeconds > 0) early = -1;
    } catch (error) {
      if (!isCorralError(error) || !isTemporary(error)) throw error;
      pauseMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
    }
    pauseMs = Math.min(pauseMs, POLL_MS_MAX);
    if (performance.now() + pauseMs >= endsAt) throw late(last);
    if (early >= 0) await pause(pauseMs, signal);
  }
}

const isOpen = ({ state }: Operation): boolean => state === 'queued' || state === 'running';

const isTemporary = ({ status, code }: CorralError): boolean =>
  code === 'network' || code === 'timeout' || status === 429 || status >= 500;

const late = (body: Operation | null): CorralError =>
  new CorralError({
    status: 0,
    code: 'timeout',
    detail: 'The operation has not ended in time. It goes on.',
    operationId: 'getOperation',
    body,
  });
