import { useSyncExternalStore } from 'react';

export interface FollowedValue<T> {
  readonly get: () => T;
  readonly set: (value: T) => void;
  readonly use: () => T;
}

/** A value outside of React, which components follow. */
export function followedValue<T>(value: T): FollowedValue<T> {
  const listeners = new Set<() => void>();
  let present = value;
  const get = () => present;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get,
    set(next) {
      present = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, get),
  };
}
