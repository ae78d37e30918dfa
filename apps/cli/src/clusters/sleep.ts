import { type HibernationScheduleInput, type Weekday, weekdayNames } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { usageError } from '../exit-codes.js';
import { declarePart } from './declare-part.js';
import type { LifecycleOptions } from './end-operation.js';
import { permit } from './permission.js';
import { clusterPlanText } from './plan-text.js';

interface SleepOptions extends LifecycleOptions {
  readonly weekdays?: string;
  readonly from?: string;
  readonly to?: string;
  readonly timeZone?: string;
  readonly off?: boolean;
  readonly yes?: boolean;
}

/** Gives a cluster hours in which it is awake, or ends its schedule. The dates with other hours stay. */
export async function setSchedule(cli: Cli, name: string, options: SleepOptions): Promise<void> {
  const wanted = scheduleIn(options);
  await declarePart(
    cli,
    name,
    {
      declared: ({ hibernationSchedule }) => ({
        hibernationSchedule: options.off ? wanted : { ...hibernationSchedule, ...wanted },
      }),
      done: 'changed',
      async permit(planned) {
        cli.note(clusterPlanText(planned, cli.style).trimEnd());
        const asked = { changes: [planned], deleted: [], noun: 'cluster', hasEffects: true };
        await permit(cli.io, asked, { ...options, permitted: 0 });
      },
    },
    options,
  );
}

function scheduleIn({ off = false, weekdays, from, to, timeZone }: SleepOptions): HibernationScheduleInput {
  const hasHours = weekdays !== undefined && from !== undefined && to !== undefined;
  const hasAny = [weekdays, from, to, timeZone].some((each) => each !== undefined);
  if (off ? hasAny : !hasHours) throw usageError('Say when it is awake with --weekdays, --from and --to, or --off.');
  if (!hasHours) return { awake: [] };
  const awake = [{ weekdays: weekdaysIn(weekdays), from, until: to }];
  return timeZone === undefined ? { awake } : { awake, timeZone };
}

/** @param text `mon-fri`, `sat`, `fri-mon,wed` */
export function weekdaysIn(text: string): Weekday[] {
  const short = weekdayNames.map((day) => day.slice(0, 3));
  const chosen = text.split(',').flatMap((part) => {
    const [first, last = first, ...more] = part.split('-').map((day) => short.indexOf(day)) as [number, ...number[]];
    if (first < 0 || last < 0 || more.length > 0)
      throw usageError(`${part} is no weekday. Use --weekdays mon-fri or --weekdays mon,wed.`);
    const count = ((last - first + 7) % 7) + 1;
    return Array.from({ length: count }, (_, ahead) => (first + ahead) % 7);
  });
  return weekdayNames.filter((_, index) => chosen.includes(index));
}
