import type { Places } from '@corral/admission';
import type { BeginOutcome } from '@corral/dns-data';
import { ClientGone, setIsBusy, tooManyWait } from '../dns-error.js';
import { ownerOf } from './access.js';
import type { CheckedWrite } from './checked-write.js';
import type { KeyedQueue } from './keyed-queue.js';
import type { Settling } from './settling.js';

export interface WriteWaitsDeps {
  /** Places for waiting writes per token. */
  readonly places: Places;
  readonly queue: KeyedQueue;
  readonly settling: Pick<Settling, 'settleDue'>;
  /** Waits until an action that holds quota of the owner has ended, for at most `waitMs`. */
  readonly roomMoves: (ownerId: string, waitMs: number, gone: AbortSignal) => Promise<void>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

export type WriteWaits = ReturnType<typeof writeWaits>;

const BUSY_POLL_MS = 100;

/** What a write waits for before it is sent. All waits end at its deadline, or when its client disconnects. */
export function writeWaits({ places, queue, settling, roomMoves, pause, now }: WriteWaitsDeps) {
  /** Waiting writes use the places of their token, for every kind of wait. */
  const placesOf = ({ caller, setAside }: CheckedWrite) => {
    let isFull = false;
    const enter = (): (() => void) | null => {
      const leave = places.take(caller.tokenId);
      isFull ||= leave === null;
      if (leave === null) return null;
      const goOn = setAside();
      return () => {
        leave();
        goOn();
      };
    };
    return { enter, wasFull: () => isFull };
  };

  /** Writes of one owner take the same lock. Waiting here occupies no database connection. */
  const inTurn = async (request: CheckedWrite, work: () => Promise<BeginOutcome>): Promise<BeginOutcome> => {
    const waitMs = Math.max(0, request.deadline - now());
    const wait = { waitMs, gone: request.gone, enterQueue: request.setAside };
    const turn = await queue.run(`owner/${request.caller.ownerId}`, wait, work);
    if (turn.kind === 'done') return turn.value;
    throw turn.kind === 'gone' ? new ClientGone() : tooManyWait();
  };

  /** @throws DnsError when no time is left to wait for the blocking write */
  const waitForSet = async ({ key, deadline, gone, setAside }: CheckedWrite, isDue: boolean): Promise<void> => {
    if (now() + BUSY_POLL_MS > deadline) throw setIsBusy();
    const settled = isDue ? settling.settleDue(key, deadline - now()) : Promise.resolve();
    await settled.then(() => pause(BUSY_POLL_MS)).finally(setAside());
    if (gone.aborted) throw new ClientGone();
  };

  /** A client that deletes and creates in one go does not wait for the deletion's action, which frees quota shortly after. */
  const waitForRoom = async (request: CheckedWrite): Promise<void> => {
    const leave = placesOf(request).enter();
    if (leave === null) throw tooManyWait();
    const waitMs = Math.max(0, request.deadline - now());
    const moved = roomMoves(ownerOf(request.caller).id, waitMs, request.gone);
    await moved.then(() => pause(BUSY_POLL_MS)).finally(leave);
    if (request.gone.aborted) throw new ClientGone();
  };

  return { placesOf, inTurn, waitForSet, waitForRoom };
}
