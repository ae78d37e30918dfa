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

/** Reads the operation; the API may delay its answer for so long. */
export type ReadOperation = (
  ref: OperationRef,
  holdSeconds: number,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
) => Promise<ReadAnswer>;

interface ReadAnswer {
  readonly operation: Operation;
  /** Whether the API has delayed its answer: then the next read can follow at once. */
  readonly wasHeld: boolean;
  readonly retryAfterMs: number | null;
}

const TIMEOUT_MS = 3_600_000;
const HOLD_SECONDS = 30;
/** The pause between two reports of progress. */
const PROGRESS_SECONDS = 3;
const POLL_MS_MIN = 1_000;
const POLL_MS_MAX = 10_000;
const RETRY_AFTER_MS_MAX = 60_000;

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
  for (let polls = 0; ; polls += 1) {
    const leftMs = endsAt - performance.now();
    const holdSeconds = Math.floor(Math.min(onProgress ? PROGRESS_SECONDS : HOLD_SECONDS, leftMs / 1_000));
    let pauseMs = Math.min(POLL_MS_MIN * 1.5 ** polls, POLL_MS_MAX) * (0.75 + Math.random() / 2);
    try {
      const { operation, wasHeld, retryAfterMs } = await read(ref, holdSeconds, { timeoutMs: leftMs, signal });
      if (JSON.stringify(operation) !== JSON.stringify(last)) onProgress?.(operation);
      last = operation;
      if (!isOpen(operation)) return operation;
      if (wasHeld) pauseMs = 0;
      else if (retryAfterMs !== null) pauseMs = Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    } catch (error) {
      if (!isCorralError(error) || !isTemporary(error)) throw error;
      pauseMs = Math.max(pauseMs, Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
    }
    if (performance.now() + pauseMs >= endsAt) throw late(last);
    if (pauseMs > 0) await pause(pauseMs, signal);
  }
}

const isOpen = ({ state }: Operation): boolean => state === 'queued' || state === 'running';

const isTemporary = ({ status, code }: CorralError): boolean =>
  code === 'network' || code === 'timeout' || status === 429 || status >= 500;

const late = (body: Operation | null): CorralError =>
  new CorralError({
    status: 0,
    code: 'timeout',
    detail: 'Timed out: the operation is still running.',
    operationId: 'getOperation',
    body,
  });
