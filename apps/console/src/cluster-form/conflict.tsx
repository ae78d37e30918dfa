import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { Table } from '../ui/table.js';
import { type Choice, differencesOf, type FieldDifference, mergedSpec } from './three-way.js';

export interface ConflictProps {
  readonly began: ClusterSpec;
  readonly current: Cluster;
  readonly yours: Readonly<Partial<ClusterSpec>>;
  readonly onMerged: (spec: ClusterSpec) => void;
}

const outcomes = { them: 'Theirs, taken over', you: 'Yours, kept' } as const;

/** Another person changed the specification meanwhile: three ways, field by field. */
export function Conflict({ began, current, yours, onMerged }: ConflictProps) {
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const [isRefused, setRefused] = useState(false);
  const differences = differencesOf(began, current.spec as ClusterSpec, yours);
  const { name } = current.metadata;
  const merge = () => {
    const merged = mergedSpec(current.spec as ClusterSpec, differences, choices);
    if (merged === null) setRefused(true);
    else onMerged(merged);
  };
  const columns = [
    { id: 'field', label: 'Field', cell: ({ field }: FieldDifference) => <code>{field}</code> },
    { id: 'began', label: 'When you began', cell: (row: FieldDifference) => <Value value={row.began} /> },
    { id: 'now', label: 'Now', cell: (row: FieldDifference) => <Value value={row.now} /> },
    { id: 'yours', label: 'Yours', cell: (row: FieldDifference) => <Value value={row.yours} /> },
    {
      id: 'outcome',
      label: 'Outcome',
      cell: ({ field, by }: FieldDifference) =>
        by !== 'both' ? (
          outcomes[by]
        ) : (
          <NativeSelect
            aria-label={`Outcome of ${field}`}
            value={choices[field] ?? ''}
            onChange={(event) => setChoices({ ...choices, [field]: event.currentTarget.value as Choice })}
            data={[
              { value: '', label: 'Choose …', disabled: true },
              { value: 'now', label: 'Now' },
              { value: 'yours', label: 'Yours' },
            ]}
            error={isRefused && choices[field] === undefined ? 'Choose one.' : null}
          />
        ),
    },
  ];
  return (
    <section aria-label="Compare">
      <p role="alert">
        {name} has changed since you began. Nothing was applied, and what you typed is kept.
        {differences.length === 0 && ' Nothing of yours differs from it any more.'}
      </p>
      <Table
        caption="Three versions of the specification"
        columns={columns}
        rows={differences}
        rowKey={({ field }) => field}
      />
      <Button variant="filled" onClick={merge}>
        Continue with these
      </Button>
    </section>
  );
}

const Value = ({ value }: { readonly value: unknown }) => (
  <span className="mono">
    {value === undefined ? 'absent' : typeof value === 'string' ? value : JSON.stringify(value)}
  </span>
);
