import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { teamKey } from '../api/queries.js';
import { isSame, type Plan, type PlanTarget, planChange } from './plan.js';

const AFTER_TYPING_MS = 400;

/** What the API said about one change. */
interface Verdict {
  /** The change, as text. */
  readonly change: string;
  readonly plan: Plan | null;
  readonly error: unknown;
  /** Unix time in ms. */
  readonly at: number;
}

export interface Planning {
  /** The last plan, also when it is out of date. */
  readonly plan: Plan | null;
  /** The last refusal or failure, also when it is out of date. */
  readonly error: unknown;
  /**
   * Whether the plan, or the refusal, is that of what is typed. The status of the cluster may have moved since: a plan is
   * applied only if it still does the same.
   */
  readonly isCurrent: boolean;
  /** Unix time in ms of the plan. */
  readonly checkedAt: number;
  /** The specification that this is the plan of. */
  readonly spec: unknown;
  readonly repeat: () => void;
}

/**
 * Plans a change while it is typed. The former plan stays until the next one replaces it.
 *
 * @param spec null while there is nothing to plan
 * @param etag of the cluster; null for a new one
 */
export function usePlan(target: PlanTarget, spec: unknown, etag: string | null): Planning {
  const isWanted = spec !== null && target.name !== '';
  const wanted = isWanted ? JSON.stringify([target.name, spec, etag]) : null;
  const [settled] = useDebouncedValue(wanted, AFTER_TYPING_MS);
  const query = useQuery({
    queryKey: ['plan', ...teamKey(target.team), settled],
    queryFn: ({ signal }) => {
      const [name, planned, tag] = parsed(settled ?? '[]');
      return planChange({ team: target.team, name }, planned, tag, signal);
    },
    enabled: settled !== null,
    // A plan is only as good as its moment.
    gcTime: 0,
    retry: false,
  });
  const [last, setLast] = useState<Verdict | null>(null);
  const verdict = settled === null ? null : verdictOf(settled, query);
  if (verdict !== null && (verdict.change !== last?.change || verdict.at !== last.at)) setLast(verdict);
  const shown = wanted === null ? null : (verdict ?? last);
  const [name, planned] = parsed(shown?.change ?? '[]');
  return {
    plan: shown?.plan ?? null,
    error: shown?.error ?? null,
    isCurrent: shown !== null && name === target.name && isSame(planned, spec),
    checkedAt: shown?.at ?? 0,
    spec: planned,
    repeat: () => void query.refetch(),
  };
}

const parsed = (text: string) => JSON.parse(text) as [string, unknown, string | null];

interface Answered {
  readonly data: Plan | undefined;
  readonly error: unknown;
  readonly dataUpdatedAt: number;
  readonly errorUpdatedAt: number;
}

function verdictOf(change: string, { data, error, dataUpdatedAt, errorUpdatedAt }: Answered): Verdict | null {
  if (error !== null) return { change, plan: null, error, at: errorUpdatedAt };
  return data === undefined ? null : { change, plan: data, error: null, at: dataUpdatedAt };
}
