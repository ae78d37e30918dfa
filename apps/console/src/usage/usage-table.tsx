import type { UsageBody, UsagePoint } from '@corral/contracts';
import { useState } from 'react';
import { moneyRange } from '../ui/money.js';
import { type Column, Table } from '../ui/table.js';
import { labelOf } from './plot-rows.js';

const number = new Intl.NumberFormat('en');
const textOf = (value: number | null): string => (value === null ? '–' : number.format(value));

const columnsOf = (step: UsageBody['step']): readonly Column<UsagePoint>[] => {
  const numeric = (id: string, label: string, of: (point: UsagePoint) => number | null): Column<UsagePoint> => ({
    id,
    label,
    alignEnd: true,
    cell: (point) => textOf(of(point)),
  });
  return [
    {
      id: 'from',
      label: step === 'hour' ? 'Hour (UTC)' : 'Day (UTC)',
      cell: ({ from, complete }) => `${labelOf(Date.parse(from), step)}${complete ? '' : ', not complete'}`,
    },
    numeric('requests', 'Requests', ({ requests }) => requests),
    numeric('writes', 'Writes', ({ writes }) => writes),
    numeric('refused', 'Refused writes', ({ refusedWrites }) => refusedWrites),
    numeric('records', 'Records', ({ records }) => records.used),
    numeric('limit', 'Record quota', ({ records }) => records.limit),
    numeric('tokens', 'DNS tokens', ({ dnsTokens }) => dnsTokens),
    numeric('clusters', 'Clusters', ({ clusters }) => clusters),
    numeric('nodes', 'Nodes', ({ nodes }) => nodes),
    {
      id: 'cost',
      label: 'Cost per month',
      alignEnd: true,
      cell: ({ cost }) => (cost.minimum === '0' && cost.maximum === '0' ? '0' : moneyRange(cost, cost.currency)),
    },
  ];
};

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
