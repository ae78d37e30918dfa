import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { applyLiveEvent } from '../api/live-cache.js';
import { type LiveState, startLiveUpdates } from '../api/live-updates.js';
import { meQuery, teamKey } from '../api/queries.js';
import { noteSessionEnd, useSessionEnded } from '../api/session-end.js';
import { announce } from '../ui/announcer.js';

const LiveContext = createContext<LiveState>({ phase: 'connecting' });

/** Whether changes of the team arrive. */
export const useLiveState = (): LiveState => useContext(LiveContext);

/** A connection that is back before this time has passed is not worth a message. */
const DOWN_SHOWN_AFTER_MS = 5_000;

/** Feeds the changes of a team into the cache for as long as one of its pages is open. */
export function LiveUpdatesProvider({ team, children }: { readonly team: string; readonly children: ReactNode }) {
  const cache = useQueryClient();
  const [state, setState] = useState<LiveState>({ phase: 'connecting' });
  const isSignedOut = useSessionEnded();
  useEffect(() => {
    // The stream of an ended session does not come back: the next session has its own.
    if (isSignedOut) {
      setState({ phase: 'signed-out' });
      return;
    }
    let isDown = false;
    let isShown = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const reload = () => {
      void cache.invalidateQueries({ queryKey: teamKey(team) });
      // Our own role may have changed before the stream began.
      void cache.invalidateQueries({ queryKey: meQuery().queryKey });
    };
    const updates = startLiveUpdates({
      team,
      onMessage(message) {
        if (message.type === 'event') {
          applyLiveEvent(cache, team, message.event);
        } else if (message.type === 'reload') {
          reload();
        } else if (message.type === 'live') {
          clearTimeout(timer);
          setState({ phase: 'live' });
          if (isDown) reload();
          if (isShown) announce('Live again. All that is shown was loaded again.');
          isDown = false;
          isShown = false;
        } else if (message.ended === 'session') {
          noteSessionEnd();
        } else if (message.ended === 'membership') {
          setState({ phase: 'signed-out' });
          reload();
        } else if (!isDown) {
          isDown = true;
          const { since } = message;
          timer = setTimeout(() => {
            isShown = true;
            setState({ phase: 'down', since });
            announce('Live updates stopped. Reconnecting.');
          }, DOWN_SHOWN_AFTER_MS);
        }
      },
    });
    return () => {
      clearTimeout(timer);
      updates.stop();
    };
  }, [cache, team, isSignedOut]);
  return <LiveContext value={state}>{children}</LiveContext>;
}
