import type { DnsTokenBody, DnsTokenState } from '@corral/contracts';
import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { dnsTokensQuery, dnsUsageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { type Columns, Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { ExamineToken } from './examine-token.js';
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

const columnsOf = (team: string): Columns<DnsTokenBody> => ({
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
