import type { ClusterSchemas } from '@corral/client';
import { Button, NativeSelect, Switch, TextInput } from '@mantine/core';
import '@mantine/core/styles/Switch.layer.css';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Fragment, useEffect, useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { type AuditQuery, teamKey } from '../api/queries.js';
import { actionName, auditKindNames, auditOutcomeNames, knownActions } from '../api/words.js';
import { withPresent } from '../cluster-form/spec-choices.js';
import { Difference } from '../record-changes/change-list.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable } from '../ui/copy.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import tableStyles from '../ui/table.module.css';
import { Time } from '../ui/time.js';
import styles from './audit.module.css';
import { actorOf, fieldTextsOf, partsOf, rrsetChangeOf, toneOf } from './audit-entry-view.js';
import { UndoEntry } from './undo-entry.js';

type AuditEntry = ClusterSchemas['AuditEntry'];

const FOLLOW_MS = 5_000;
const PAGE_SIZE = 50;

const optionsOf = (names: Readonly<Record<string, string>>) => [
  { value: '', label: 'All' },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];
const actionNames = Object.fromEntries(knownActions.map((action) => [action, actionName(action)]));

/** The page shows who did what, newest first, with filters that are part of the address. */
export function AuditPage() {
  const { slug } = useTeam();
  const filters = useSearch({ from: '/signed-in/teams/$team/audit' });
  const [isFollowing, setFollowing] = useState(false);
  const query = useInfiniteQuery({
    queryKey: [...teamKey(slug), 'audit', 'pages', filters],
    queryFn: ({ pageParam: cursor, signal }) =>
      bodyOf(
        corral.listAudit({ team: slug }, { query: { ...(filters as AuditQuery), limit: PAGE_SIZE, cursor }, signal }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: isFollowing ? FOLLOW_MS : false,
    staleTime: FOLLOW_MS,
  });
  const exportUrl = `/api/v1/teams/${slug}/audit/export/?${new URLSearchParams(filters)}`;
  const hasFilters = Object.keys(filters).length > 0;
  return (
    <Page
      actions={
        <Button component="a" href={exportUrl} download={`audit-${slug}.ndjson`}>
          Export {hasFilters ? 'what is shown' : 'all'}
        </Button>
      }
    >
      <Filters />
      <Switch label="Live" checked={isFollowing} onChange={(event) => setFollowing(event.currentTarget.checked)} />
      <Loaded query={query} what="the audit log">
        {({ pages }) => {
          const entries = pages.flatMap(({ items }) => items);
          if (entries.length === 0) {
            return (
              <Empty>
                {hasFilters
                  ? 'No entry matches the filters. Names and addresses are compared as a whole.'
                  : 'Nothing recorded yet.'}
              </Empty>
            );
          }
          return <Entries entries={entries} />;
        }}
      </Loaded>
      {query.hasNextPage && (
        <Button
          className={styles.more ?? ''}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Load older entries
        </Button>
      )}
    </Page>
  );
}

type Filter = 'kind' | 'action' | 'outcome' | 'name' | 'actor' | 'request_id' | 'from' | 'to';

function Filters() {
  const filters = useSearch({ from: '/signed-in/teams/$team/audit' });
  const navigate = useNavigate({ from: '/teams/$team/audit' });
  const set = (name: Filter, value: string) =>
    void navigate({
      search: ({ [name]: _old, ...others }) => (value === '' ? others : { ...others, [name]: value }),
      replace: true,
    });
  const choice = (name: 'kind' | 'outcome' | 'action', label: string, names: Readonly<Record<string, string>>) => (
    <NativeSelect
      label={label}
      value={filters[name] ?? ''}
      data={withPresent(optionsOf(names), filters[name])}
      onChange={(event) => set(name, event.currentTarget.value)}
    />
  );
  const text = (name: 'name' | 'actor' | 'request_id', label: string, placeholder: string) => (
    <DelayedInput
      label={label}
      placeholder={placeholder}
      value={filters[name] ?? ''}
      onChange={(value) => set(name, value)}
      isFirst={name === 'name'}
    />
  );
  const day = (name: 'from' | 'to', label: string, time: string) => (
    <TextInput
      type="date"
      label={label}
      value={filters[name]?.slice(0, 10) ?? ''}
      onChange={({ currentTarget: { value } }) => set(name, value && `${value}T${time}Z`)}
    />
  );
  return (
    <search className={styles.filters}>
      {choice('kind', 'Kind', auditKindNames)}
      {choice('outcome', 'Outcome', auditOutcomeNames)}
      {text('name', 'Target', 'Whole name')}
      {choice('action', 'Action', actionNames)}
      {text('actor', 'Who', 'Whole address or name')}
      {text('request_id', 'Request', 'Whole ID')}
      {day('from', 'From (UTC)', '00:00:00')}
      {day('to', 'Until (UTC)', '23:59:59')}
      {Object.keys(filters).length > 0 && <Button onClick={() => void navigate({ search: {} })}>Clear</Button>}
    </search>
  );
}

const TYPING_MS = 400;

interface DelayedInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The one that `/` leads to. */
  readonly isFirst?: boolean;
}

/** The API filters, so it is asked when typing stops. */
function DelayedInput({ label, placeholder, value, onChange, isFirst = false }: DelayedInputProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      spellCheck={false}
      {...(isFirst ? { 'data-shortcut': '/' } : {})}
    />
  );
}

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }) {
  const [shown, setShown] = useState<string | null>(null);
  return (
    <div className={tableStyles.scroll}>
      <table className={`${tableStyles.table} ${tableStyles.narrow} ${styles.entries}`}>
        <caption className="visually-hidden">Entries of the audit log</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Who</th>
            <th scope="col">Action</th>
            <th scope="col">Target</th>
            <th scope="col">Outcome</th>
            <th scope="col">
              <span className="visually-hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Fragment key={entry.id}>
              <tr>
                <td data-label="Time">
                  <Time at={entry.createdAt} />
                </td>
                <td data-label="Who" className={tableStyles.long}>
                  {actorOf(entry)}
                </td>
                <td data-label="Action">
                  {actionName(entry.action)}
                  {entry.dns !== null && entry.dns.count > 1 && ` × ${entry.dns.count}`}
                </td>
                <td data-label="Target" className={tableStyles.long}>
                  <Copyable text={entry.target.name || entry.target.id} />
                  {entry.dns !== null && <span className="mono"> {entry.dns.type}</span>}
                </td>
                <td data-label="Outcome">
                  <Status tone={toneOf(entry)}>{auditOutcomeNames[entry.outcome]}</Status>
                </td>
                <td>
                  <Button
                    variant="subtle"
                    aria-expanded={shown === entry.id}
                    aria-label={`Details: ${actionName(entry.action)} ${entry.target.name}`}
                    onClick={() => setShown(shown === entry.id ? null : entry.id)}
                  >
                    Details
                  </Button>
                </td>
              </tr>
              {shown === entry.id && (
                <tr>
                  <td colSpan={6} className={tableStyles.long}>
                    <Details entry={entry} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Details({ entry }: { readonly entry: AuditEntry }) {
  const parts = partsOf(entry);
  return (
    <div className={styles.detail}>
      <EntryChange entry={entry} />
      {parts.map(({ title, text }) => (
        <div key={title}>
          <h2>{title}</h2>
          <pre className={styles.values}>{text}</pre>
        </div>
      ))}
      <div>
        <h2>Identifiers</h2>
        <div>
          Action <code>{entry.action}</code>
        </div>
        <div>
          Target <Copyable text={entry.target.id} />
        </div>
        {entry.requestId !== null && (
          <div>
            Request <Copyable text={entry.requestId} />
          </div>
        )}
        {entry.dns?.refusalCode != null && <div>Refused with {entry.dns.refusalCode}</div>}
      </div>
      <UndoEntry entry={entry} />
    </div>
  );
}

/** Old and new values, where they are known. */
function EntryChange({ entry }: { readonly entry: AuditEntry }) {
  const rrset = rrsetChangeOf(entry);
  const fields = fieldTextsOf(entry);
  if (rrset === null && fields.length === 0) return null;
  return (
    <div>
      <h2>Changed</h2>
      {rrset !== null && <Difference {...rrset} />}
      <ul className={styles.fields}>
        {fields.map(({ field, from, to }) => (
          <li key={field}>
            <code>{field}</code> {from !== null && <del>{from}</del>} {to !== null && <ins>{to}</ins>}
          </li>
        ))}
      </ul>
    </div>
  );
}
