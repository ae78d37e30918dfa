import { followedValue } from './followed-value.js';

const hasEnded = followedValue(false);

/** An API answered that there is no session any more. */
export const noteSessionEnd = (): void => hasEnded.set(true);
/** The person has signed in again. */
export const noteSessionStart = (): void => hasEnded.set(false);

let channel: BroadcastChannel | undefined;

/** The tabs of this browser. It is opened when it is first used: a process of tests that imports this must be able to end. */
function tabs(): BroadcastChannel {
  channel ??= new BroadcastChannel('corral-session');
  return channel;
}

/** Says to the other tabs of this browser that there is a session. */
export const tellOtherTabs = (): void => tabs().postMessage('session');

/** Runs when another tab has a session. @returns a function that ends this */
export function onSessionElsewhere(run: () => void): () => void {
  tabs().addEventListener('message', run);
  return () => tabs().removeEventListener('message', run);
}

export const useSessionEnded = hasEnded.use;
