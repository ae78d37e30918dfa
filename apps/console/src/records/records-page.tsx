import type { Rrset } from '@corral/contracts';
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo } from 'react';
import { dnsUsageQuery, rrsetsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable } from '../ui/copy.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { type Column, Table } from '../ui/table.js';

/** The record sets of the team, filtered by anything that they contain. */
export function RecordsPage() {
  const { slug } = useTeam();
  const { filter = '' } = useSearch({ from: '/signed-in/teams/$team/dns/records' });
  const navigate = useNavigate({ from: '/teams/$team/dns/records' });
  const rrsets = useQuery(rrsetsQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const used = usage.data?.records;
  return (
    <Page
      title="Record sets"
      aside={used && <span className="muted numeric">{`${used.used} of ${used.limit} records`}</span>}
    >
      <TextInput
        label="Filter by name, type, value or label"
        value={filter}
        onChange={(event) => {
          const text = event.currentTarget.value;
          void navigate({ search: text === '' ? {} : { filter: text }, replace: true });
        }}
        spellCheck={false}
        data-shortcut="/"
        maw="24rem"
      />
      <Loaded query={rrsets} what="record sets">
        {(all) =>
          all.length === 0 ? (
            <Empty>No record sets yet. Names end in {slug}. Tools create them with a DNS token.</Empty>
          ) : (
            <RecordsTable team={slug} rrsets={all} filter={filter} />
          )
        }
      </Loaded>
    </Page>
  );
}

interface RecordsTableProps {
  readonly team: string;
  readonly rrsets: readonly Rrset[];
  readonly filter: string;
}

const textOf = ({ name, type, records, labels }: Rrset): string =>
  [name, type, ...records.map(({ value }) => value), ...Object.entries(labels).map((pair) => pair.join('='))]
    .join('\n')
    .toLowerCase();

function RecordsTable({ team, rrsets, filter }: RecordsTableProps) {
  const wanted = useDeferredValue(filter.trim().toLowerCase());
  const shown = useMemo(
    () => (wanted === '' ? rrsets : rrsets.filter((rrset) => textOf(rrset).includes(wanted))),
    [rrsets, wanted],
  );
  const columns = useMemo((): Column<Rrset>[] => columnsOf(team), [team]);
  if (shown.length === 0) return <Empty>No record set matches “{filter}”.</Empty>;
  return <Table caption="Record sets" columns={columns} rows={shown} rowKey={({ id }) => id} initialSort="name" />;
}

const columnsOf = (team: string): Column<Rrset>[] => [
  {
    id: 'name',
    label: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ name, type }) => (
      <Link to="/teams/$team/dns/records/$name/$type" params={{ team, name, type }} className="mono">
        {name}
      </Link>
    ),
  },
  { id: 'type', label: 'Type', sortBy: ({ type }) => type, cell: ({ type }) => <span className="mono">{type}</span> },
  {
    id: 'values',
    label: 'Values',
    cell: ({ records }) =>
      records.map(({ value }) => (
        <div key={value}>
          <Copyable text={value} />
        </div>
      )),
  },
  {
    id: 'ttl',
    label: 'TTL',
    alignEnd: true,
    sortBy: ({ ttl }) => ttl ?? 0,
    cell: ({ ttl }) => (ttl === null ? 'default' : `${ttl} s`),
  },
  {
    id: 'labels',
    label: 'Labels',
    cell: ({ labels }) => (
      <span className="mono">
        {Object.entries(labels)
          .map((pair) => pair.join('='))
          .join(', ')}
      </span>
    ),
  },
];
