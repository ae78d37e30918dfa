import type { BeginOutcome } from '@corral/dns-mirror';
import type { PlacesPerKey } from '@corral/rate-limit';
import { ClientGone, setIsBusy, tooManyWait } from '../dns-error.js';
import type { CheckedWrite } from './checked-write.js';
import type { KeyedQueue } from './keyed-queue.js';
import { ownerOf } from './rrset-access.js';
import type { Settling } from './settling.js';

export interface WriteWaitsDeps {
  /** Of a token's waiting writes. */
  readonly places: PlacesPerKey;
  readonly queue: KeyedQueue;
  readonly settling: Pick<Settling, 'settleDue'>;
  /** Waits until an action has ended that holds room of an owner, for so long at most. */
  readonly roomMoves: (ownerId: string, waitMs: number, gone: AbortSignal) => Promise<void>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

export type WriteWaits = ReturnType<typeof writeWaits>;

const BUSY_POLL_MS = 100;

/** What a write waits for before it goes out. None of it lasts past its deadline, and a client that leaves ends it. */
export function writeWaits({ places, queue, settling, roomMoves, pause, now }: WriteWaitsDeps) {
  /** The places in which a write waits are those of its token, whatever it waits for. */
  const placesOf = ({ caller, setAside }: CheckedWrite) => {
    let isFull = false;
    const enter = (): (() => void) | null => {
      const leave = places.enter(caller.tokenId);
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

  /** One owner's writes take the same lock: whoever waits for it here holds no connection that others need. */
  const inTurn = async (request: CheckedWrite, work: () => Promise<BeginOutcome>): Promise<BeginOutcome> => {
    const waitMs = Math.max(0, request.deadline - now());
    const wait = { waitMs, gone: request.gone, enterQueue: request.setAside };
    const turn = await queue.run(`owner/${request.caller.ownerId}`, wait, work);
    if (turn.kind === 'done') return turn.value;
    throw turn.kind === 'gone' ? new ClientGone() : tooManyWait();
  };

  /** @throws DnsError when there is no time left to wait for a write that is in the way */
  const waitForSet = async ({ key, deadline, gone, setAside }: CheckedWrite, isDue: boolean): Promise<void> => {
    if (now() + BUSY_POLL_MS > deadline) throw setIsBusy();
    const settled = isDue ? settling.settleDue(key, deadline - now()) : Promise.resolve();
    await settled.then(() => pause(BUSY_POLL_MS)).finally(setAside());
    if (gone.aborted) throw new ClientGone();
  };

  /** Who deletes and creates in one go does not ask how the deletion's action ends: its room is free a moment later. */
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
