import { type DnsTokenBody, type DnsTokenState, ownerLabelOf, type TokenBody } from '@corral/contracts';
import { Button, Group, NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { dnsOf, readToken } from '../api/dns-client.js';
import { dnsTokensQuery, dnsUsageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Columns } from '../ui/columns.js';
import { type Fact, Facts } from '../ui/facts.js';
import { LinkButton } from '../ui/link-button.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { type ColumnsOf, Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { CoverageCheck } from './coverage-check.js';
import { coverageText } from './token-draft.js';
import { TokenStatus } from './token-status.js';

const states = ['active', 'expired', 'revoked', 'all'] as const satisfies readonly (DnsTokenState | 'all')[];

export function TokensPage() {
  const { slug: team, role, can } = useTeam();
  const { state = 'active', filter = '' } = useSearch({ from: '/signed-in/teams/$team/dns/tokens' });
  const navigate = useNavigate({ from: '/teams/$team/dns/tokens' });
  const search = (next: { state: string; filter: string }) =>
    void navigate({
      search: { state: next.state, ...(next.filter === '' ? {} : { filter: next.filter }) },
      replace: true,
    });
  const tokens = useQuery(dnsTokensQuery(team));
  const usage = useQuery(dnsUsageQuery(team));
  return (
    <Page
      actions={
        can('createDnsToken') && (
          <LinkButton to={`/teams/${team}/dns/tokens/+`} shortcut="n">
            Create token
          </LinkButton>
        )
      }
    >
      <p className="muted">
        Tools write records with a token.{' '}
        {usage.data && `${usage.data.tokens.active} of ${usage.data.tokens.limit} tokens are in use.`}
      </p>
      <Loaded query={tokens} what="tokens">
        {(all) => {
          const shown = all.filter((token) => isShown(token, { team, state, filter }));
          if (all.length === 0) {
            return (
              <Empty>
                {role === 'admin' && 'No tokens. Tools need one.'}
                {role === 'member' && 'You have no tokens. Members see only their own. Tools need one.'}
                {role === 'viewer' && 'Viewers have no tokens. Members see their own, administrators all of the team.'}
              </Empty>
            );
          }
          return (
            <>
              <Group align="flex-end">
                <TextInput
                  type="search"
                  label="Filter"
                  data-shortcut="/"
                  placeholder="Name, covered name or creator"
                  w="17rem"
                  value={filter}
                  onChange={(event) => search({ state, filter: event.currentTarget.value })}
                />
                <NativeSelect
                  label="Show"
                  data={[...states]}
                  value={state}
                  onChange={(event) => search({ state: event.currentTarget.value, filter })}
                />
              </Group>
              {shown.length === 0 ? (
                <Empty action={<Button onClick={() => search({ state: 'all', filter: '' })}>Show all</Button>}>
                  None of the {all.length} tokens {filter === '' ? `is ${state}` : `matches “${filter}”`}.
                </Empty>
              ) : (
                <Table caption="DNS tokens" columns={columnsOf(team)} rows={shown} rowKey={({ id }) => id} />
              )}
            </>
          );
        }}
      </Loaded>
      <ExamineToken />
    </Page>
  );
}

interface Shown {
  readonly team: string;
  readonly state: string;
  readonly filter: string;
}

function isShown(token: DnsTokenBody, { team, state, filter }: Shown): boolean {
  if (state !== 'all' && token.state !== state) return false;
  const text = [token.name, coverageText({ ownerLabel: team, ...token }), token.createdBy?.email ?? ''].join(' ');
  return text.toLowerCase().includes(filter.trim().toLowerCase());
}

const columnsOf = (team: string): ColumnsOf<DnsTokenBody> => ({
  Name: {
    isLong: true,
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => (
      <Link to="/teams/$team/dns/tokens/$id" params={{ team, id }}>
        {name}
      </Link>
    ),
  },
  State: { sortBy: ({ state }) => state, cell: (token) => <TokenStatus token={token} /> },
  Covers: {
    isLong: true,
    cell: (token) => <span className="mono">{coverageText({ ownerLabel: team, ...token })}</span>,
  },
  'Created by': {
    isLong: true,
    sortBy: ({ createdBy }) => createdBy?.email ?? '',
    cell: ({ createdBy }) => createdBy?.email ?? 'the team',
  },
  'Last used': {
    sortBy: ({ lastUsedAt }) => lastUsedAt ?? '',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
  Ends: { sortBy: ({ expiresAt }) => expiresAt ?? '9', cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
});

/** Shows what a token that somebody found says about itself. The token is stored nowhere. */
function ExamineToken() {
  const { slug: team } = useTeam();
  const [text, setText] = useState('');
  const examine = useMutation({
    gcTime: 0,
    mutationFn: async () => readToken((await dnsOf(team)).endpoint, text.trim()),
    onSuccess: () => setText(''),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() !== '') examine.mutate();
  };
  return (
    <Section title="Whose token is this?">
      <form onSubmit={submit}>
        <Group align="flex-end" gap="xs">
          <PasswordInput
            label="Token to examine"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            maxLength={200}
            autoComplete="off"
            spellCheck={false}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the token to examine' }}
            w="24rem"
          />
          <Button type="submit" loading={examine.isPending}>
            Examine
          </Button>
        </Group>
      </form>
      <div aria-live="polite">
        {examine.error !== null && <Failed error={examine.error} what="The token could not be examined." />}
        {examine.data !== undefined && <Examined token={examine.data} />}
      </div>
    </Section>
  );
}

function Examined({ token }: { readonly token: TokenBody }) {
  const { names, types, zone } = token;
  const [root] = names;
  if (root === undefined) return <Facts facts={factsOf(token)} />;
  const coverage = { ownerLabel: ownerLabelOf(root), withinName: root, withinTypes: types };
  return (
    <Columns aside={<CoverageCheck coverage={coverage} zone={zone.name} />}>
      <Facts facts={factsOf(token)} />
    </Columns>
  );
}

function factsOf(token: TokenBody): Fact[] {
  const { names, types, zone, records, requests } = token;
  const covers =
    names.length === 0 ? 'nothing: it has no scope dns' : `${names.join(', ')} and below, ${types.join(' ')}`;
  return [
    { label: 'Token', value: <NameOf token={token} /> },
    { label: 'Of', value: token.demo === null ? `team ${token.team}` : `demo ${token.demo}` },
    { label: 'Covers', value: <span className="mono">{covers}</span> },
    { label: 'Zone', value: <span className="mono">{zone.name}</span> },
    { label: 'Ends', value: <Expiry at={token.expires_at} /> },
    ...(records === null
      ? []
      : [{ label: 'Records', value: `${records.used + records.reserved} of ${records.limit} in use` }]),
    { label: 'Requests left', value: `${leftOf(requests.per_token)}; of the team ${leftOf(requests.per_team)}` },
  ];
}

const leftOf = ({ remaining, limit }: TokenBody['requests']['per_token']) => `${remaining} of ${limit} per minute`;

function NameOf({ token: { id, name, kind, team: owner } }: { readonly token: TokenBody }) {
  const { slug: team } = useTeam();
  if (kind === 'session') return 'of a session in the console';
  if (kind === 'demo' || owner !== team) return name;
  return (
    <Link to="/teams/$team/dns/tokens/$id" params={{ team, id }}>
      {name}
    </Link>
  );
}
