import { type Rrset, writableTypes } from '@corral/contracts';
import { labelTexts } from '@corral/domain';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import styles from './records.module.css';
import { type ListSearch, shownSets } from './shown-sets.js';

/** What the address says about the list, and how to change it. */
export function useListSearch(): [ListSearch, (changed: ListSearch) => void] {
  const search = useSearch({ from: '/signed-in/teams/$team/dns/records' });
  const navigate = useNavigate();
  const searchFor = (changed: ListSearch) => {
    const next = Object.fromEntries(Object.entries({ ...search, ...changed }).filter(([, value]) => value !== ''));
    void navigate({ to: '.', search: next, replace: true });
  };
  return [search, searchFor];
}

/** Filters of the list, which are part of the address. */
export function Filters({ rrsets }: { readonly rrsets: readonly Rrset[] }) {
  const [search, searchFor] = useListSearch();
  const { filter = '', type = '', label = '' } = search;
  const types = [...new Set([...writableTypes, ...rrsets.map((rrset) => rrset.type)])];
  const labels = [...new Set(rrsets.flatMap((rrset) => labelTexts(rrset.labels)))].sort();
  return (
    <search className={styles.filters}>
      <TextInput
        aria-label="Filter by name, type, value or label"
        placeholder="Filter …"
        value={filter}
        onChange={(event) => searchFor({ filter: event.currentTarget.value })}
        spellCheck={false}
        autoCapitalize="none"
        data-shortcut="/"
      />
      <NativeSelect
        aria-label="Type"
        data={[{ value: '', label: 'All types' }, ...types]}
        value={type}
        onChange={(event) => searchFor({ type: event.currentTarget.value })}
      />
      {labels.length > 0 && (
        <NativeSelect
          aria-label="Label"
          data={[{ value: '', label: 'All labels' }, ...labels]}
          value={label}
          onChange={(event) => searchFor({ label: event.currentTarget.value })}
        />
      )}
      {`${filter}${type}${label}` !== '' && (
        <>
          <span className="muted numeric" role="status">
            {`${shownSets(rrsets, search).length} of ${rrsets.length}`}
          </span>
          <Button onClick={() => searchFor({ filter: '', type: '', label: '' })}>Clear filter</Button>
        </>
      )}
    </search>
  );
}
