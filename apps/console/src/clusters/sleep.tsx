import {
  type Cluster,
  type ClusterSpec,
  type HibernationSchedule,
  scheduleText,
  sleepStateAt,
} from '@corral/contracts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { teamKey, usageQuery } from '../api/queries.js';
import { planChange } from '../cluster-form/plan.js';
import { useTeam } from '../shell/use-team.js';
import { Facts } from '../ui/facts.js';
import { costDifferenceText, moneyRange } from '../ui/money.js';
import { Section } from '../ui/page.js';
import { Expiry, useNow } from '../ui/time.js';
import { sleepText } from './sleep-text.js';

const ScheduleDialog = lazy(async () => ({ default: (await import('./schedule-dialog.js')).ScheduleDialog }));

interface SleepProps {
  readonly cluster: Cluster;
}

/** Shows when the cluster sleeps, and what that saves. */
export function Sleep({ cluster }: SleepProps) {
  const { can } = useTeam();
  const [isOpen, setOpen] = useState(false);
  const isChangeable = can('putCluster') && cluster.status.phase !== 'Deleting';
  const schedule = (cluster.spec as ClusterSpec).hibernationSchedule;
  return (
    <Section
      title="Sleep"
      actions={
        isChangeable && (
          <Button onClick={() => setOpen(true)}>{schedule === undefined ? 'Add schedule' : 'Change schedule'}</Button>
        )
      }
    >
      {schedule === undefined ? (
        <p className="muted">No schedule. A cluster that sleeps at night costs less.</p>
      ) : (
        <Schedule cluster={cluster} schedule={schedule} isPriced={isChangeable} />
      )}
      <Saved name={cluster.metadata.name} />
      {isOpen && isChangeable && (
        <Suspense>
          <ScheduleDialog cluster={cluster} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </Section>
  );
}

/** What sleep has saved so far, by a schedule or by hand; nothing before the first time. */
function Saved({ name }: { readonly name: string }) {
  const { slug: team } = useTeam();
  const today = () => ({ step: 'day' as const, from: new Date().toISOString() });
  const usage = useQuery(usageQuery(team, 'today', today)).data;
  const saved = usage?.savedBySleep.find(({ cluster }) => cluster === name);
  if (saved === undefined) return null;
  const { since, amount, currency } = saved;
  return (
    <p>
      Saved since <Expiry at={since} />:{' '}
      <strong className="numeric">{moneyRange({ minimum: amount, maximum: amount }, currency)}</strong>
    </p>
  );
}

interface ScheduleProps extends SleepProps {
  readonly schedule: HibernationSchedule;
  /** Whether the API may be asked what the cluster costs without the schedule. */
  readonly isPriced: boolean;
}

function Schedule({ cluster, schedule, isPriced }: ScheduleProps) {
  const { slug: team } = useTeam();
  const now = new Date(useNow());
  const { metadata, spec, status } = cluster;
  const { name, etag } = metadata;
  const awake = { ...spec, hibernated: false, hibernationSchedule: { awake: [] } };
  const unscheduled = useQuery({
    queryKey: ['awake-cost', ...teamKey(team), name, spec, status.cost],
    queryFn: ({ signal }) => planChange({ team, name }, awake, etag, signal),
    enabled: isPriced,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  return (
    <Facts
      facts={[
        { label: 'Schedule', value: scheduleText(schedule) },
        { label: 'It says', value: sleepText(sleepStateAt(schedule, now), spec.hibernated) },
        ...(unscheduled === undefined
          ? []
          : [
              {
                label: 'Cost per month, against always awake',
                value: <span className="numeric">{costDifferenceText(unscheduled.answer.cost, status.cost)}</span>,
              },
            ]),
      ]}
    />
  );
}
