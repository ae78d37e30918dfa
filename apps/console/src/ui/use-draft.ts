import { useCallback, useState } from 'react';

const PREFIX = 'corral.draft.';

/**
 * State that a reload does not lose, for this tab. Never for secrets.
 *
 * @param key names the form, its team and its target
 */
export function useDraft<T>(key: string, initial: T): [T, (value: T) => void, () => void] {
  const [value, setValue] = useState<T>(() => draftAt(key, initial));
  const set = useCallback(
    (next: T) => {
      setValue(next);
      putDraft(key, next);
    },
    [key],
  );
  const clear = useCallback(() => {
    dropDraft(key);
    setValue(initial);
  }, [key, initial]);
  return [value, set, clear];
}

/** Fills the draft of a page that is opened next. */
export function putDraft(key: string, value: unknown): void {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Storage is full or blocked: the draft lives as long as the page.
  }
}

export const dropDraft = (key: string): void => sessionStorage.removeItem(PREFIX + key);

/** The draft of any page. @param initial when there is none */
export function draftAt<T>(key: string, initial: T): T {
  try {
    const text = sessionStorage.getItem(PREFIX + key);
    return text === null ? initial : (JSON.parse(text) as T);
  } catch {
    return initial;
  }
}

/** Called at sign-out: what one person typed is not for the next one. */
export function clearDrafts(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
}
