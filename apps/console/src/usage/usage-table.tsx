import type { UsageBody, UsagePoint } from '@corral/contracts';
import { useState } from 'react';
import { moneyRange } from '../ui/money.js';
import { type ColumnsOf, Table } from '../ui/table.js';
import { labelOf } from './plot-rows.js';

const number = new Intl.NumberFormat('en');
const textOf = (value: number | null): string => (value === null ? '–' : number.format(value));

const numeric = (of: (point: UsagePoint) => number | null) => ({
  alignEnd: true,
  cell: (point: UsagePoint) => textOf(of(point)),
});

const columnsOf = (step: UsageBody['step']): ColumnsOf<UsagePoint> => ({
  [step === 'hour' ? 'Hour (UTC)' : 'Day (UTC)']: ({ from, complete }) =>
    `${labelOf(Date.parse(from), step)}${complete ? '' : ', not complete'}`,
  Requests: numeric(({ requests }) => requests),
  Writes: numeric(({ writes }) => writes),
  'Refused writes': numeric(({ refusedWrites }) => refusedWrites),
  Records: numeric(({ records }) => records.used),
  'Record quota': numeric(({ records }) => records.limit),
  'DNS tokens': numeric(({ dnsTokens }) => dnsTokens),
  Clusters: numeric(({ clusters }) => clusters),
  Nodes: numeric(({ nodes }) => nodes),
  'Cost per month': {
    alignEnd: true,
    cell: ({ cost }) => (cost.minimum === '0' && cost.maximum === '0' ? '0' : moneyRange(cost, cost.currency)),
  },
});

/** All values of the plots as a table, the newest first. It is built when it is opened. */
export function UsageTable({ step, points }: Pick<UsageBody, 'step' | 'points'>) {
  const [isOpen, setOpen] = useState(false);
  const recorded = points.filter(({ recordedHours }) => recordedHours > 0).toReversed();
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All values as a table</summary>
      {isOpen && (
        <Table
          caption={`Usage by ${step}; times without values are left out`}
          columns={columnsOf(step)}
          rows={recorded}
          rowKey={({ from }) => from}
        />
      )}
    </details>
  );
}
