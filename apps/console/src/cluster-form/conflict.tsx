import type { Cluster, ClusterSpec, Operation } from '@corral/contracts';
import { Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { operationsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { clockOf } from '../ui/relative-time.js';
import { Table } from '../ui/table.js';
import styles from './plan.module.css';
import { fieldName, valueText } from './plan-text.js';
import { type Choice, differencesOf, type FieldDifference, mergedText } from './three-way.js';

export interface ConflictProps {
  readonly began: ClusterSpec;
  readonly current: Cluster;
  readonly yours: Readonly<Partial<ClusterSpec>>;
  /** Your document, from which `yours` was read. */
  readonly text: string;
  readonly onMerged: (text: string) => void;
}

const outcomes = { them: 'Theirs, taken over', you: 'Yours, kept' } as const;

/** Another person changed the specification meanwhile: three ways, field by field. */
export function Conflict({ began, current, yours, text, onMerged }: ConflictProps) {
  const { slug: team } = useTeam();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const operations = useQuery(operationsQuery(team, current.metadata.id));
  const last = operations.data?.find(({ id }) => id === current.status.lastOperation?.id);
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const [isRefused, setRefused] = useState(false);
  const differences = differencesOf(began, current.spec as ClusterSpec, yours);
  const { name } = current.metadata;
  const merge = () => {
    const merged = mergedText(text, differences, choices);
    if (merged === null) setRefused(true);
    else onMerged(merged);
  };
  const columns = {
    Field: ({ field }: FieldDifference) => nameOf(field),
    'When you began': (row: FieldDifference) => valueText(row.began),
    [nowLabel(last)]: (row: FieldDifference) => valueText(row.now),
    Yours: (row: FieldDifference) => valueText(row.yours),
    Outcome: ({ field, by }: FieldDifference) =>
      by !== 'both' ? (
        outcomes[by]
      ) : (
        <NativeSelect
          aria-label={`Outcome of ${nameOf(field)}`}
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
  };
  return (
    <section aria-labelledby="compare" className={styles.fields}>
      <h2 id="compare" ref={heading} tabIndex={-1}>
        {name} has changed since you began
      </h2>
      <p>
        Nothing was applied, and what you typed is still here.
        {differences.length === 0 && ' Nothing of yours differs from it any more.'}
      </p>
      <Table
        caption="Three versions of the specification"
        columns={columns}
        rows={differences}
        rowKey={({ field }) => field}
      />
      <div>
        <Button variant="filled" onClick={merge}>
          Continue with these
        </Button>
      </div>
    </section>
  );
}

/** "Now (Ada, 12:01:00)", if it is known whose change it is. */
const nowLabel = (last: Operation | undefined): string =>
  last?.createdBy ? `Now (${last.createdBy.displayName}, ${clockOf(Date.parse(last.createdAt))})` : 'Now';

/** "general, maximum" of `nodePools.general.maximum`. */
function nameOf(field: string): string {
  const [first, pool = '', ...below] = field.split('.');
  if (first !== 'nodePools') return fieldName(`/spec/${field.replaceAll('.', '/')}`, []);
  return fieldName(['/spec/nodePools/0', ...below].join('/'), [pool]);
}
