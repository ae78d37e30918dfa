import { useSyncExternalStore } from 'react';

let message = '';
const listeners = new Set<() => void>();

/** Tells screen readers, politely, what happened. Anything announced also stands on the page. */
export function announce(text: string): void {
  message = text;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The one live region of the console. */
export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => message);
  return (
    <div role="log" aria-live="polite" className="visually-hidden">
      {text}
    </div>
  );
}
