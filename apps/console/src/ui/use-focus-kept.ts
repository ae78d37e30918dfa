import { useLayoutEffect, useRef } from 'react';

/** Dialogs give the focus back when they have faded out. */
const DIALOG_GONE_MS = 400;

/**
 * When what had the focus goes away, the browser drops the focus. This moves it on, so that a keyboard continues there.
 * When a page opens, its title takes the focus, and this changes nothing.
 *
 * @param next selector of the control that comes next, such as the button that opens the form again. Without it on the
 *   page, the title takes the focus
 * @param shown what changes when something goes away
 */
export function useFocusKept(next: string, shown: unknown): void {
  const before = useRef(shown);
  useLayoutEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    const keep = () => {
      if (document.activeElement !== document.body) return;
      const target = document.querySelector<HTMLElement>(next) ?? document.querySelector<HTMLElement>('h1');
      target?.focus({ preventScroll: true });
    };
    keep();
    const holder = document.activeElement;
    // While what has the focus now is there, it is not lost: a button that waits for an answer is disabled and has none.
    const keepAfterDialog = () => {
      if (holder === document.body || holder?.isConnected !== true) keep();
    };
    const timer = setTimeout(keepAfterDialog, DIALOG_GONE_MS);
    return () => clearTimeout(timer);
  }, [next, shown]);
}
