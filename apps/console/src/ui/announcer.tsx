import { followedValue } from '../api/followed-value.js';

const message = followedValue('');

/** Tells screen readers, politely, what happened. Anything announced also stands on the page. */
export const announce = message.set;

/** The one live region of the console. */
export function Announcer() {
  const text = message.use();
  return (
    <div role="log" aria-live="polite" className="visually-hidden">
      {text}
    </div>
  );
}
