import { useEffect, useState } from 'react';

/**
 * Gives the focus back when a dialog is gone: to what opened it, to the button of the menu that opened it, or else to the
 * title of the page.
 */
export function useReturnFocus(): void {
  const [opener] = useState(() => openerOf(document.activeElement));
  useEffect(
    () => () => {
      // The dialog is taken off the page after this.
      setTimeout(() => {
        if (opener?.isConnected) opener.focus({ preventScroll: true });
        else if (document.activeElement === document.body) document.querySelector<HTMLElement>('h1')?.focus();
      });
    },
    [opener],
  );
}

function openerOf(element: Element | null): HTMLElement | null {
  const menu = element?.closest('[role="menu"]')?.getAttribute('aria-labelledby');
  const opener = menu ? document.getElementById(menu) : element;
  return opener instanceof HTMLElement && opener !== document.body ? opener : null;
}
