import { useWindowEvent } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { pathOf, places } from './navigation.js';

const STORAGE_KEY = 'corral.shortcuts';
/** The second key of `g h` and the like. */
const SEQUENCE_MS = 1_500;

/** Single letters can be switched off: speech input and shaky hands press them by accident (WCAG 2.1.4). */
export const areShortcutsOn = (): boolean => localStorage.getItem(STORAGE_KEY) !== 'off';
export const setShortcutsOn = (on: boolean): void => localStorage.setItem(STORAGE_KEY, on ? 'on' : 'off');

export interface ShortcutOptions {
  readonly team: string;
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/**
 * Keys that work on each page of a team. `/`, `n` and `e` press what the page marks with `data-shortcut`, so that they do
 * what the visible control does.
 */
export function useShortcuts({ team, openPalette, openHelp }: ShortcutOptions): void {
  const navigate = useNavigate();
  const goUntil = useRef(0);
  useWindowEvent('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !areShortcutsOn()) return;
    if (document.querySelector('[role="dialog"]') !== null) return;
    const isSequence = event.timeStamp < goUntil.current;
    goUntil.current = 0;
    if (isSequence) {
      const place = places.find(({ key }) => key === event.key);
      if (place === undefined) return;
      event.preventDefault();
      void navigate({ to: pathOf(team, place) });
    } else if (event.key === 'g') {
      // From now on, not from the press: a busy page hears of it late.
      goUntil.current = performance.now() + SEQUENCE_MS;
    } else if (event.key === '?') {
      event.preventDefault();
      openHelp();
    } else if (event.key === '/' || event.key === 'n' || event.key === 'e') {
      press(event);
    }
  });
}

function press(event: KeyboardEvent): void {
  const control = document.querySelector<HTMLElement>(`[data-shortcut="${event.key}"]`);
  if (control === null) return;
  event.preventDefault();
  if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) control.focus();
  else control.click();
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}
