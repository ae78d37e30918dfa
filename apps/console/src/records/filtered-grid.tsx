import { type Rrset, writableTypes } from '@corral/contracts';
import { contentOf, keyOf, labelTexts, type WantedSet } from '@corral/domain';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { Empty } from '../ui/states.js';
import styles from './records.module.css';
import { RecordsGrid, type RecordsGridProps } from './records-grid.js';

interface FilteredGridProps {
  readonly rrsets: readonly Rrset[];
  readonly selected: ReadonlySet<string>;
  readonly onSelectNone: () => void;
  readonly onStage: (sets: readonly WantedSet[]) => void;
  readonly grid: Omit<RecordsGridProps, 'rrsets' | 'selected'>;
}

const textOf = ({ name, type, records, labels }: Rrset): string =>
  [name, type, ...records.flatMap(({ value, comment }) => [value, comment]), ...labelTexts(labels)]
    .join('\n')
    .toLowerCase();
const byName = new Intl.Collator('en', { numeric: true });

/** The grid with its filters, which are part of the address, and what can be done with selected sets. */
export function FilteredGrid({ rrsets, selected, onSelectNone, onStage, grid }: FilteredGridProps) {
  const search = useSearch({ from: '/signed-in/teams/$team/dns/records' });
  const { filter = '', type = '', label = '' } = search;
  const navigate = useNavigate({ from: '/teams/$team/dns/records' });
  const wanted = useDeferredValue(filter.trim().toLowerCase());
  const sorted = useMemo(() => rrsets.toSorted((one, other) => byName.compare(keyOf(one), keyOf(other))), [rrsets]);
  const shown = useMemo(
    () =>
      sorted.filter(
        (rrset) =>
          (type === '' || rrset.type === type) &&
          (label === '' || labelTexts(rrset.labels).includes(label)) &&
          (wanted === '' || textOf(rrset).includes(wanted)),
      ),
    [sorted, wanted, type, label],
  );
  const types = [...new Set([...writableTypes, ...rrsets.map((rrset) => rrset.type)])];
  const labels = [...new Set(rrsets.flatMap((rrset) => labelTexts(rrset.labels)))].sort();
  const searchFor = (changed: typeof search) => {
    const next = Object.fromEntries(Object.entries({ ...search, ...changed }).filter(([, value]) => value !== ''));
    void navigate({ search: next, replace: true });
  };
  const picked = shown.filter(({ id }) => selected.has(id));
  const isFiltered = filter !== '' || type !== '' || label !== '';
  return (
    <>
      <div className={styles.filters}>
        <TextInput
          label="Filter by name, type, value or label"
          value={filter}
          onChange={(event) => searchFor({ filter: event.currentTarget.value })}
          spellCheck={false}
          data-shortcut="/"
          w="20rem"
          maw="100%"
        />
        <NativeSelect
          label="Type"
          data={[{ value: '', label: 'All' }, ...types]}
          value={type}
          onChange={(event) => searchFor({ type: event.currentTarget.value })}
        />
        {labels.length > 0 && (
          <NativeSelect
            label="Label"
            data={[{ value: '', label: 'All' }, ...labels]}
            value={label}
            onChange={(event) => searchFor({ label: event.currentTarget.value })}
          />
        )}
        {isFiltered && (
          <>
            <span className="muted numeric" role="status">{`${shown.length} of ${rrsets.length}`}</span>
            <Button onClick={() => searchFor({ filter: '', type: '', label: '' })}>Clear filter</Button>
          </>
        )}
      </div>
      {picked.length > 0 && <SelectionBar picked={picked} onStage={onStage} onClear={onSelectNone} />}
      {shown.length === 0 ? (
        <Empty>
          {rrsets.length === 0
            ? `No record sets yet. Names end in ${grid.team}. Add one here, or let tools create them with a DNS token.`
            : `No record set matches${filter === '' ? ' the filter' : ` “${filter}”`}.`}
        </Empty>
      ) : (
        <RecordsGrid {...grid} rrsets={shown} selected={selected} />
      )}
    </>
  );
}

interface SelectionBarProps {
  readonly picked: readonly Rrset[];
  readonly onStage: (sets: readonly WantedSet[]) => void;
  readonly onClear: () => void;
}

/** What can be done with several sets. All of it is staged, and planned before it is done. */
function SelectionBar({ picked, onStage, onClear }: SelectionBarProps) {
  const [ttl, setTtl] = useState('');
  const stage = (contentFor: (rrset: Rrset) => WantedSet['content']) => {
    onStage(
      picked.map((rrset) => {
        const { name, type } = rrset;
        return { name, type, content: contentFor(rrset), seen: contentOf(rrset) };
      }),
    );
    onClear();
  };
  const seconds = ttl === '' ? null : Number(ttl);
  return (
    <fieldset className={styles.bar} aria-label="Selected record sets">
      <strong>{`${picked.length} selected`}</strong>
      <Button onClick={() => stage(() => null)}>Remove</Button>
      <TextInput
        aria-label="TTL in seconds for the selected sets"
        placeholder="TTL, default"
        inputMode="numeric"
        value={ttl}
        onChange={(event) => setTtl(event.currentTarget.value.replace(/\D/g, ''))}
        w="8rem"
      />
      <Button onClick={() => stage((rrset) => ({ ...contentOf(rrset), ttl: seconds }))}>Change TTL</Button>
      <Button onClick={onClear}>Clear selection</Button>
    </fieldset>
  );
}
