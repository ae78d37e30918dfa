import { isCorralError, type StreamMessage } from '@corral/client';
import { corral } from './corral.js';

export type LiveMessage =
  | Exclude<StreamMessage, { readonly type: 'down' }>
  | {
      readonly type: 'down';
      /** What the stream ended with: then it does not reconnect. Null: the connection was lost. */
      readonly ended: 'session' | 'membership' | null;
      /** Unix time in ms of the last sign of the server: until then, nothing was missed. */
      readonly since: number;
    };

/** Whether changes arrive; `since`: Unix time in ms until which nothing was missed. */
export type LiveState =
  | { readonly phase: 'connecting' | 'live' }
  | { readonly phase: 'down'; readonly since: number }
  | { readonly phase: 'signed-out' };

export interface LiveUpdates {
  readonly stop: () => void;
}

export interface LiveUpdatesOptions {
  readonly team: string;
  readonly onMessage: (message: LiveMessage) => void;
}

/** Two heartbeats did not come. */
const SILENCE_MS = 9_000;

type Shared = LiveMessage | { readonly type: 'hello' };

/**
 * Follows the changes of a team. All tabs of a browser share one connection: browsers allow six per origin, so the seventh
 * tab would wait for ever. The tab that has the lock connects and passes on; when it closes, another one continues after
 * the last event that it saw. Locks need a secure context: elsewhere each tab has a connection of its own.
 */
export function startLiveUpdates({ team, onMessage }: LiveUpdatesOptions): LiveUpdates {
  const stopped = new AbortController();
  const { signal } = stopped;
  const { locks } = navigator;
  if (locks === undefined) {
    void follow(team, null, signal, onMessage);
    return { stop: () => stopped.abort() };
  }
  const name = `corral.live.${team}`;
  const channel = new BroadcastChannel(name);
  let last: string | null = null;
  let isLive = false;
  let leads = false;

  const take = (message: LiveMessage): void => {
    if (message.type === 'event') last = message.event.id;
    if (message.type === 'reload') last = message.id;
    isLive = message.type === 'live' || (message.type !== 'down' && isLive);
    onMessage(message);
  };
  channel.onmessage = ({ data }: MessageEvent<Shared>) => {
    if (data.type !== 'hello') return take(data);
    // A tab that opens later has loaded its data after this: it misses nothing from here on.
    if (leads && isLive) channel.postMessage({ type: 'live' } satisfies Shared);
    if (leads && isLive && last !== null) channel.postMessage({ type: 'reload', id: last } satisfies Shared);
  };
  channel.postMessage({ type: 'hello' } satisfies Shared);
  void locks
    .request(name, { signal }, async () => {
      leads = true;
      await follow(team, last, signal, (message) => {
        take(message);
        channel.postMessage(message satisfies Shared);
      });
    })
    .catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      channel.close();
    },
  };
}

async function follow(
  team: string,
  after: string | null,
  signal: AbortSignal,
  onMessage: (message: LiveMessage) => void,
): Promise<void> {
  let since = Date.now();
  try {
    for await (const message of corral.followEvents(team, { after, signal, silenceMs: SILENCE_MS })) {
      if (message.type !== 'down') since = Date.now();
      onMessage(message.type === 'down' ? { type: 'down', ended: null, since: message.since } : message);
    }
  } catch (error) {
    if (!isCorralError(error)) throw error;
    // A team that the person does not belong to is not found.
    onMessage({ type: 'down', ended: error.status === 401 ? 'session' : 'membership', since });
  }
}
