import type { ClusterSchemas } from '@corral/client';
import type { Rrset } from '@corral/contracts';
import { contentOf, isSame, labelTexts, type SetContent } from '@corral/domain';
import { Button, Drawer, type DrawerProps } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { auditOutcomeNames, didOf } from '../api/words.js';
import { actorOf, rrsetChangeOf, toneOf } from '../audit/audit-entry-view.js';
import { Difference } from '../record-changes/change-list.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable, Snippet } from '../ui/copy.js';
import { durationText } from '../ui/duration.js';
import { type Fact, Facts } from '../ui/facts.js';
import { Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { Time } from '../ui/time.js';
import styles from './records.module.css';

type RecordSetChange = ClusterSchemas['RecordSetChanges']['items'][number];

const PAGE_SIZE = 50;

interface SetDrawerProps {
  readonly name: string;
  readonly type: string;
  readonly zoneName: string;
  /** Undefined when there is no such set. */
  readonly rrset: Rrset | undefined;
  /** Null when it is not known. */
  readonly lastChange: RecordSetChange | null;
  readonly onClose: () => void;
  /** Plans a former content; null: the set did not exist. */
  readonly onRestore: (content: SetContent | null) => void;
}

/** What stands beside the list. */
export const SideDrawer = (props: DrawerProps) => <Drawer position="right" size="36rem" {...props} />;

/** One record set with its history, beside the list. */
export function SetDrawer({ name, type, zoneName, rrset, lastChange, onClose, onRestore }: SetDrawerProps) {
  const { can } = useTeam();
  const fullName = name === '@' ? zoneName : `${name}.${zoneName}`;
  return (
    <SideDrawer opened onClose={onClose} title={`${fullName} ${type}`}>
      <div className={styles.drawer}>
        {rrset === undefined ? (
          <Empty>{`${name} ${type} does not exist. It may have been deleted: see its history.`}</Empty>
        ) : (
          <>
            <ul className="plain" aria-label="Values">
              {rrset.records.map(({ value, comment }) => (
                <li key={value}>
                  <Copyable text={value} /> <span className="faint">{comment}</span>
                </li>
              ))}
            </ul>
            <Facts facts={[...factsOf(rrset), ...changeFacts(lastChange)]} />
          </>
        )}
        <Snippet label="query" text={`dig +short ${fullName} ${type}`} />
        <Section title="History">
          {can('listAudit') ? (
            <History
              name={name}
              type={type}
              onRestore={onRestore}
              present={rrset === undefined ? null : contentOf(rrset)}
            />
          ) : (
            <Empty>Only administrators see the history.</Empty>
          )}
        </Section>
      </div>
    </SideDrawer>
  );
}

const factsOf = ({ ttl, labels, protection }: Rrset): Fact[] => [
  { label: 'TTL', value: ttl === null ? 'default of the zone' : `${durationText(ttl)} (${ttl} s)` },
  {
    label: 'Labels',
    value: <span className="mono">{labelTexts(labels).join(', ') || 'none'}</span>,
  },
  { label: 'Protection', value: protection.change ? 'protected against changes by the operator' : 'none' },
];

const changeFacts = (change: RecordSetChange | null): Fact[] =>
  change === null
    ? []
    : [
        {
          label: 'Last change',
          value: (
            <>
              <Time at={change.changedAt} />
              {change.changedBy !== null && `, ${actorOf({ actor: change.changedBy })}`}
            </>
          ),
        },
      ];

interface HistoryProps extends Pick<SetDrawerProps, 'name' | 'type' | 'onRestore'> {
  /** The content now; null when the set does not exist. */
  readonly present: SetContent | null;
}

function History({ name, type, present, onRestore }: HistoryProps) {
  const { slug: team } = useTeam();
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
            <ul className="plain" aria-label={`Changes of ${name} ${type}`}>
              {items.map((entry) => (
                <Entry key={entry.id} {...{ entry, present, onRestore }} />
              ))}
            </ul>
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

interface EntryProps extends Pick<HistoryProps, 'present' | 'onRestore'> {
  readonly entry: ClusterSchemas['AuditEntry'];
}

function Entry({ entry, present, onRestore }: EntryProps) {
  const change = rrsetChangeOf(entry);
  return (
    <li className={styles.entry}>
      <div className={styles.buttons}>
        <Time at={entry.createdAt} />
        <strong>{actorOf(entry)}</strong>
        <span>
          {didOf(entry.action)} <span className="mono">{entry.target.name}</span>
        </span>
        <Status tone={toneOf(entry)}>{auditOutcomeNames[entry.outcome]}</Status>
        {change !== null && !isSame(change.from, present) && (
          <Button onClick={() => onRestore(change.from)}>
            {change.from === null ? 'Remove it again' : 'Restore what was before'}
          </Button>
        )}
      </div>
      {change !== null && <Difference {...change} />}
    </li>
  );
}
