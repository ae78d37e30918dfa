import type { UsageBody, UsageStep } from '@corral/contracts';
import { SegmentedControl } from '@mantine/core';
import '../ui/segmented-control.css';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { dnsUsageQuery, usageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { moneyRange } from '../ui/money.js';
import { Page } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { Empty, Loaded } from '../ui/states.js';
import { type PlotRow, plotSeriesOf, summaryOf } from './plot-rows.js';
import { Plot } from './plots.js';
import styles from './usage.module.css';
import { firstOf, usageWindowOf, usageWindows } from './usage-range.js';
import { UsageTable } from './usage-table.js';

/** What the team used over time, as plots. */
export function UsagePage() {
  const { slug } = useTeam();
  const { range } = useSearch({ from: '/signed-in/teams/$team/usage' });
  const navigate = useNavigate({ from: '/teams/$team/usage' });
  const window = usageWindowOf(range);
  const query = useQuery(usageQuery(slug, window.id, () => ({ step: window.step, from: firstOf(window, Date.now()) })));
  const dnsUsage = useQuery(dnsUsageQuery(slug)).data;
  const callsPerHour = dnsUsage?.upstream.limit ?? null;
  const requestsPerMinute = dnsUsage?.requests.limitPerMinute ?? null;
  return (
    <Page
      actions={
        <SegmentedControl
          aria-label="Time shown"
          size="xs"
          value={window.id}
          data={usageWindows.map(({ id, label }) => ({ value: id, label }))}
          onChange={(id) => void navigate({ search: { range: id }, replace: true })}
        />
      }
    >
      <Loaded query={query} what="the usage">
        {(usage) => <Usage {...usage} callsPerHour={callsPerHour} requestsPerMinute={requestsPerMinute} />}
      </Loaded>
    </Page>
  );
}

interface UsageProps extends Pick<UsageBody, 'step' | 'points'> {
  /** What the provider grants to all teams together; null while that is not known. */
  readonly callsPerHour: number | null;
  /** What the DNS API grants to the team; null while that is not known. */
  readonly requestsPerMinute: number | null;
}

function Usage({ step, points, ...limits }: UsageProps) {
  if (points.every(({ recordedHours }) => recordedHours === 0)) {
    return <Empty>Nothing recorded in this time. Usage is recorded every five minutes and stored for 90 days.</Empty>;
  }
  return (
    <>
      <p className="muted">
        By {step}, in UTC, recorded every five minutes. The last {step} is not complete.
      </p>
      <Plots step={step} points={points} {...limits} />
      <UsageTable step={step} points={points} />
    </>
  );
}

function Plots({ step, points, callsPerHour, requestsPerMinute }: UsageProps) {
  const { rows, currency } = plotSeriesOf(points);
  const last = points.findLast(({ cost }) => cost.minimum !== null)?.cost;
  const shared = { step, rows };
  const hours = step === 'day' ? 24 : 1;
  return (
    <div className={styles.plots}>
      <Plot
        {...shared}
        title="Requests to the DNS API"
        summary={[
          totalText(rows, 'requests', 'request', step),
          ...(requestsPerMinute === null ? [] : [`limit ${textOf(requestsPerMinute * MINUTES * hours)} per ${step}`]),
        ].join('; ')}
        limit={requestsPerMinute === null ? null : requestsPerMinute * MINUTES * hours}
        series={[{ key: 'requests', label: 'Requests', colour: 1, shape: 'bar' }]}
      />
      <Plot
        {...shared}
        title="DNS writes"
        summary={[
          totalText(rows, 'writes', 'write', step),
          plural(summaryOf(rows, 'refusedWrites')?.total ?? 0, 'refused write'),
          ...(callsPerHour === null ? [] : [`all teams share ${textOf(callsPerHour * hours)} calls per ${step}`]),
        ].join('; ')}
        limit={callsPerHour === null ? null : callsPerHour * hours}
        series={[
          { key: 'writes', label: 'Writes', colour: 1, shape: 'bar' },
          { key: 'refusedWrites', label: 'Refused writes', colour: 2, shape: 'bar' },
        ]}
      />
      <Plot
        {...shared}
        title="Records"
        summary={`Last: ${textOf(summaryOf(rows, 'records')?.last)} of ${textOf(summaryOf(rows, 'recordsLimit')?.last)} records`}
        series={[
          { key: 'records', label: 'Records', colour: 1, shape: 'line' },
          { key: 'recordsLimit', label: 'Quota', colour: 2, shape: 'limit' },
        ]}
      />
      <Plot
        {...shared}
        title="Clusters and nodes"
        summary={`Last: nodes ${textOf(summaryOf(rows, 'nodes')?.last)}, clusters ${textOf(summaryOf(rows, 'clusters')?.last)}`}
        series={[
          { key: 'nodes', label: 'Nodes', colour: 1, shape: 'line' },
          { key: 'clusters', label: 'Clusters', colour: 2, shape: 'line' },
        ]}
      />
      <Plot
        {...shared}
        title={`Cost per month${currency === null ? '' : ` in ${currency}`}`}
        summary={`Last: ${last === undefined ? 'not known' : moneyRange(last, currency)}. Net, nodes only, from the smallest to the largest size of all pools`}
        unit={currency ?? ''}
        series={[{ key: 'cost', label: 'Lowest to highest cost', colour: 1, shape: 'band' }]}
      />
    </div>
  );
}

const MINUTES = 60;
const textOf = (value: number | undefined): string => (value === undefined ? 'not known' : value.toLocaleString('en'));

function totalText(rows: readonly PlotRow[], key: 'requests' | 'writes', noun: string, step: UsageStep): string {
  const summary = summaryOf(rows, key);
  if (summary === null) return 'Not known';
  return `${plural(summary.total, noun)}, at most ${summary.peak.toLocaleString('en')} per ${step}`;
}
