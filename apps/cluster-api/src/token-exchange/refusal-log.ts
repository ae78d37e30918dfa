import type { ExchangeTarget, RefusalEntry } from './store.js';
import { exchangeRefusals } from './subject-token.js';

export interface RefusalLogOptions {
  readonly write: (entry: RefusalEntry) => Promise<void>;
  /** Calls a function once after some milliseconds. @returns a function that cancels the call */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly onError: (error: Error) => void;
}

const MINUTE_MS = 60_000;

interface Minute {
  /** Null when nothing was refused since the last entry. */
  entry: RefusalEntry | null;
  cancel: () => void;
}

/**
 * Writes refused exchanges to the audit log of the team that they name: the first at once, then at most one entry a minute for each
 * service account, because everybody can have an exchange refused. Of several the entry shows the one that passed most checks,
 * so that a stranger, who passes few, does not hide what is wrong with a pipeline.
 */
export function refusalLog({ write, after, onError }: RefusalLogOptions) {
  const minutes = new Map<string, Minute>();
  const flush = async (key: string, minute: Minute): Promise<void> => {
    const { entry } = minute;
    if (entry === null) return void minutes.delete(key);
    minute.entry = null;
    minute.cancel = after(MINUTE_MS, () => void flush(key, minute));
    await write(entry).catch(onError);
  };
  return {
    /** Adds a refusal to the audit log. Never waits, so that the answer takes as long as for a team that does not exist. */
    note(target: ExchangeTarget, refusal: Omit<RefusalEntry, 'target' | 'count'>): void {
      // The key is not the requested name: accounts that do not exist share an entry.
      const key = target.account?.id ?? target.team.id;
      const known = minutes.get(key);
      const minute = known ?? { entry: null, cancel: () => undefined };
      minute.entry = added(minute.entry, { target, ...refusal, count: 1 });
      if (known !== undefined) return;
      minutes.set(key, minute);
      minute.cancel = after(0, () => void flush(key, minute));
    },
    /** Writes the rest. */
    async close(): Promise<void> {
      const rest = [...minutes];
      for (const [, { cancel }] of rest) cancel();
      await Promise.all(rest.map(([key, minute]) => flush(key, minute)));
      for (const [, { cancel }] of rest) cancel();
    },
  };
}

function added(before: RefusalEntry | null, next: RefusalEntry): RefusalEntry {
  if (before === null) return next;
  const shown = passed(next) > passed(before) ? next : before;
  return { ...shown, count: before.count + 1 };
}

/** The reasons stand in the order of the checks. */
const passed = ({ reason }: RefusalEntry): number => exchangeRefusals.indexOf(reason);
