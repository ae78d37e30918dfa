import { followLiveStream, type LiveMessage } from './live-stream.js';

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

type Shared = LiveMessage | { readonly type: 'hello' };

/**
 * Follows the changes of a team. All tabs of a browser share one connection: browsers allow six per origin, so the seventh
 * tab would wait for ever. The tab that holds the lock connects and passes on; when it closes, another one continues after
 * the last event that it saw. Locks need a secure context: elsewhere each tab has a connection of its own.
 */
export function startLiveUpdates({ team, onMessage }: LiveUpdatesOptions): LiveUpdates {
  const stopped = new AbortController();
  const { signal } = stopped;
  const url = `/api/v1/teams/${encodeURIComponent(team)}/events/`;
  const { locks } = navigator;
  if (locks === undefined) {
    void followLiveStream({ url, after: null, onMessage, signal });
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
      await followLiveStream({
        url,
        after: last,
        signal,
        onMessage: (message) => {
          take(message);
          channel.postMessage(message satisfies Shared);
        },
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
