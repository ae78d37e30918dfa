import { type ClusterOperationId, parseTime, type UsageBody, type UsageStep } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { callerOf } from '../http/caller.js';
import { invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { isWrongRange, type UsageRange, usageRangeOf, usageSeries } from './rules.js';
import { listHours, listSaved } from './store.js';

/** The handler for usage. */
export function usageRoutes({ prisma, now }: Services) {
  return {
    async getUsage(req, res) {
      const time = now();
      const range = rangeOf(req, time);
      const { team } = callerOf(res);
      const hours = await listHours(prisma, team.id, range, time);
      const savedBySleep = await listSaved(prisma, team.id);
      res.json({ ...usageSeries(hours, range, time), savedBySleep } satisfies UsageBody);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function rangeOf(req: Request, now: number): UsageRange {
  const query = queryOf(req);
  const timeOf = (name: string): Date | null => parseTime(query.get(name) ?? '');
  const step = (query.get('step') ?? 'hour') as UsageStep;
  const range = usageRangeOf({ step, from: timeOf('from'), to: timeOf('to') }, now);
  if (isWrongRange(range)) throw invalidField('validation_failed', `/query/${range.parameter}`, range.reason);
  return range;
}
