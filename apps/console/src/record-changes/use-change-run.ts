import {
  applyChanges,
  type ChangePlan,
  classifyFailure,
  type Outcomes,
  recordSetApi,
  type SetOutcome,
} from '@corral/domain';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { dnsOf } from '../api/dns-client.js';
import { dnsUsageQuery, rrsetsQuery } from '../api/queries.js';
import { useDraft } from '../ui/use-draft.js';

/** A plan that is being applied. It is stored for this tab, so that a reload can resume it. */
interface StoredRun {
  readonly waves: ChangePlan['waves'];
  readonly outcomes: Outcomes;
}

export interface ChangeRun {
  readonly waves: ChangePlan['waves'];
  readonly outcomes: Outcomes;
  readonly isRunning: boolean;
  /** Why it ended early. */
  readonly stopped: string | null;
  /** Applies what is not done yet. */
  readonly resume: () => void;
  /** Sets that are being written end first. */
  readonly pause: () => void;
  /** Forgets the run, and what is not done. */
  readonly discard: () => void;
}

/**
 * Applies plans of record sets, one at a time: a plan that begins while another is applied waits for its end.
 *
 * @param key names the page, such as `zone-file`
 * @param onSaved called when a plan of one set is done, with the key of the set
 * @returns the run that is there, or null, and how to begin one
 */
export function useChangeRun(
  team: string,
  key: string,
  onSaved?: (key: string) => void,
): { run: ChangeRun | null; begin: (plan: Pick<ChangePlan, 'waves'>) => void } {
  const cache = useQueryClient();
  const [stored, store, clear] = useDraft<StoredRun | null>(`record-run.${team}.${key}`, null);
  const [isRunning, setRunning] = useState(false);
  const [stopped, setStopped] = useState<string | null>(null);
  const pausing = useRef<AbortController | null>(null);
  const lastRun = useRef(Promise.resolve());
  const latestOnSaved = useRef(onSaved);
  latestOnSaved.current = onSaved;
  useEffect(() => () => pausing.current?.abort(), []);

  const execute = useCallback(
    async ({ waves, outcomes }: StoredRun) => {
      const controller = new AbortController();
      pausing.current = controller;
      setRunning(true);
      setStopped(null);
      let latest: Outcomes = outcomes;
      const onOutcome = (name: string, outcome: SetOutcome) => {
        latest = { ...latest, [name]: outcome };
        store({ waves, outcomes: latest });
      };
      const why = await applyChanges({
        waves,
        outcomes,
        api: recordSetApi(() => dnsOf(team)),
        classify: (error) => classifyFailure(error, 'Your session has ended. Sign in and resume.'),
        onOutcome,
        signal: controller.signal,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      });
      setRunning(false);
      setStopped(why);
      const [only, ...others] = waves.flat();
      if (latestOnSaved.current && only && others.length === 0 && latest[only.key]?.state === 'done') {
        latestOnSaved.current(only.key);
      }
      void cache.invalidateQueries({ queryKey: rrsetsQuery(team).queryKey });
      void cache.invalidateQueries({ queryKey: dnsUsageQuery(team).queryKey });
    },
    [cache, store, team],
  );
  const start = useCallback(
    (run: StoredRun) => {
      lastRun.current = lastRun.current.then(() => {
        store(run);
        return execute(run);
      });
    },
    [execute, store],
  );
  const begin = useCallback(({ waves }: Pick<ChangePlan, 'waves'>) => start({ waves, outcomes: {} }), [start]);
  const run = useMemo(
    () =>
      stored === null
        ? null
        : {
            ...stored,
            isRunning,
            stopped,
            resume: () => start(stored),
            pause: () => pausing.current?.abort(),
            discard: () => {
              pausing.current?.abort();
              clear();
            },
          },
    [stored, isRunning, stopped, start, clear],
  );
  return { run, begin };
}
