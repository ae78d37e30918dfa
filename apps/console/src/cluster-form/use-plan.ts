import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { teamKey } from '../api/queries.js';
import { type Plan, type PlanTarget, planChange } from './plan.js';

const AFTER_TYPING_MS = 400;

export interface Planning {
  /** The last plan, also when it is out of date. */
  readonly plan: Plan | null;
  readonly error: unknown;
  /** Whether the plan, or the refusal, is that of what is typed. */
  readonly isCurrent: boolean;
  /** Unix time in ms of the plan. */
  readonly checkedAt: number;
  readonly repeat: () => void;
}

/**
 * Plans a change while it is typed.
 *
 * @param spec null while there is nothing to plan
 * @param etag of the cluster; null for a new one
 */
export function usePlan(target: PlanTarget, spec: unknown, etag: string | null): Planning {
  const wanted = spec === null || target.name === '' ? null : JSON.stringify([target.name, spec, etag]);
  const [settled] = useDebouncedValue(wanted, AFTER_TYPING_MS);
  const query = useQuery({
    queryKey: ['plan', ...teamKey(target.team), settled],
    queryFn: ({ signal }) => {
      const [name, planned, tag] = JSON.parse(settled ?? '[]') as [string, unknown, string | null];
      return planChange({ team: target.team, name }, planned, tag, signal);
    },
    enabled: settled !== null,
    placeholderData: keepPreviousData,
    // A plan is only as good as its moment.
    gcTime: 0,
    retry: false,
  });
  const isCurrent = settled === wanted && wanted !== null && !query.isFetching;
  return {
    plan: query.error === null ? (query.data ?? null) : null,
    error: query.error,
    isCurrent,
    checkedAt: query.dataUpdatedAt,
    repeat: () => void query.refetch(),
  };
}
