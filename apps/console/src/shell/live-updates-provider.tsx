import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { applyLiveEvent } from '../api/live-cache.js';
import { type LiveState, startLiveUpdates } from '../api/live-updates.js';
import { meQuery, teamKey } from '../api/queries.js';
import { noteSessionEnd, useSessionEnded } from '../api/session-end.js';
import { announce } from '../ui/announcer.js';

const LiveContext = createContext<LiveState>({ phase: 'connecting' });
const BegunContext = createContext(false);

/** Whether changes of the team arrive. */
export const useLiveState = (): LiveState => useContext(LiveContext);

/** Shows a page once the stream stands: what is loaded then misses no change, so it need not be loaded twice. */
export const OnceBegun = ({ children }: { readonly children: ReactNode }) => useContext(BegunContext) && children;

/** A connection that is back before this time has passed is not worth a message. */
const DOWN_SHOWN_AFTER_MS = 5_000;
/** The pages do not wait longer for the stream: what they load then is loaded again once it stands. */
const FIRST_WAIT_MS = 1_000;

/** Feeds the changes of a team into the cache for as long as one of its pages is open. */
export function LiveUpdatesProvider({ team, children }: { readonly team: string; readonly children: ReactNode }) {
  const cache = useQueryClient();
  const [isBegun, setBegun] = useState(false);
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
    const firstWait = setTimeout(() => setBegun(true), FIRST_WAIT_MS);
    const reload = () => {
      void cache.invalidateQueries({ queryKey: teamKey(team) });
      // Our own role may have changed before the stream began.
      void cache.invalidateQueries({ queryKey: meQuery().queryKey });
    };
    const updates = startLiveUpdates({
      team,
      onMessage(message) {
        if (message.type === 'reload' || message.type === 'down') setBegun(true);
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
          const silentMs = Date.now() - since;
          timer = setTimeout(() => {
            isShown = true;
            setState({ phase: 'down', since });
            announce('Offline. Reconnecting.');
          }, DOWN_SHOWN_AFTER_MS - silentMs);
        }
      },
    });
    return () => {
      clearTimeout(timer);
      clearTimeout(firstWait);
      updates.stop();
    };
  }, [cache, team, isSignedOut]);
  return (
    <LiveContext value={state}>
      <BegunContext value={isBegun}>{children}</BegunContext>
    </LiveContext>
  );
}
