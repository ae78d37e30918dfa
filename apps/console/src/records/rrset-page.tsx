import type { Rrset } from '@corral/contracts';
import { labelTexts } from '@corral/domain';
import { Button } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { bodyOf, corral } from '../api/corral.js';
import { rrsetsQuery, teamKey } from '../api/queries.js';
import { actorOf, rrsetChangeOf, toneOf } from '../audit/audit-entry-view.js';
import { Difference } from '../record-changes/change-list.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable } from '../ui/copy.js';
import { type Fact, Facts } from '../ui/facts.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';

const PAGE_SIZE = 50;

/** One record set with its history. */
export function RrsetPage() {
  const { slug, isAdmin } = useTeam();
  const { name, type } = useParams({ from: '/signed-in/teams/$team/dns/records/$name/$type' });
  const rrsets = useQuery(rrsetsQuery(slug));
  return (
    <Page
      title={`${name} ${type}`}
      aside={
        <Link to="/teams/$team/dns/records" params={{ team: slug }}>
          All record sets
        </Link>
      }
    >
      <Section title="Records">
        <Loaded query={rrsets} what="record sets">
          {(all) => {
            const rrset = all.find((each) => each.name === name && each.type === type);
            if (rrset === undefined) return <Empty>Not found. It may have been deleted: see its history.</Empty>;
            return (
              <>
                <Facts facts={factsOf(rrset)} />
                <Table
                  caption="Records"
                  rows={rrset.records}
                  rowKey={({ value }) => value}
                  columns={[
                    { id: 'value', label: 'Value', isLong: true, cell: ({ value }) => <Copyable text={value} /> },
                    { id: 'comment', label: 'Comment', isLong: true, cell: ({ comment }) => comment },
                  ]}
                />
              </>
            );
          }}
        </Loaded>
      </Section>
      <Section title="History">
        {isAdmin ? (
          <History team={slug} name={name} type={type} />
        ) : (
          <Empty>Only administrators see the history.</Empty>
        )}
      </Section>
    </Page>
  );
}

const factsOf = ({ ttl, labels, protection }: Rrset): Fact[] => [
  { label: 'TTL', value: ttl === null ? 'default of the zone' : `${ttl} s` },
  {
    label: 'Labels',
    value: <span className="mono">{labelTexts(labels).join(', ') || 'none'}</span>,
  },
  { label: 'Protection', value: protection.change ? 'protected against changes by the operator' : 'none' },
];

function History({ team, name, type }: { readonly team: string; readonly name: string; readonly type: string }) {
  const history = useInfiniteQuery({
    queryKey: [...teamKey(team), 'audit', 'pages', { name, type }],
    queryFn: ({ pageParam: cursor, signal }) =>
      bodyOf(corral.listAudit({ team }, { query: { name, type, limit: PAGE_SIZE, cursor }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    // No event announces a new entry.
    staleTime: 10_000,
  });
  return (
    <Loaded query={history} what="the history">
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0) return <Empty>No change was recorded.</Empty>;
        return (
          <>
            <Table
              caption={`Changes of ${name} ${type}`}
              rows={items}
              rowKey={({ id }) => id}
              columns={[
                { id: 'time', label: 'Time', cell: ({ createdAt }) => <Time at={createdAt} /> },
                { id: 'who', label: 'Who', isLong: true, cell: (entry) => actorOf(entry) },
                { id: 'action', label: 'Action', cell: ({ action }) => <span className="mono">{action}</span> },
                {
                  id: 'change',
                  label: 'Change',
                  isLong: true,
                  cell: (entry) => {
                    const change = rrsetChangeOf(entry);
                    return change !== null && <Difference {...change} />;
                  },
                },
                {
                  id: 'outcome',
                  label: 'Outcome',
                  cell: (entry) => <Status tone={toneOf(entry)}>{entry.outcome}</Status>,
                },
              ]}
            />
            {history.hasNextPage && (
              <div>
                <Button loading={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
                  Load older changes
                </Button>
              </div>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
