import type { DnsTokenBody, DnsTokenState } from '@corral/contracts';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { dnsTokensQuery, dnsUsageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { type Column, Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { coverageText } from './token-draft.js';
import { TokenStatus } from './token-status.js';

const states = ['active', 'expired', 'revoked', 'all'] as const satisfies readonly (DnsTokenState | 'all')[];

export function TokensPage() {
  const { slug: team } = useTeam();
  const { state = 'active' } = useSearch({ from: '/signed-in/teams/$team/dns/tokens' });
  const navigate = useNavigate();
  const tokens = useQuery(dnsTokensQuery(team));
  const usage = useQuery(dnsUsageQuery(team));
  return (
    <Page
      title="DNS tokens"
      actions={
        <LinkButton to={`/teams/${team}/dns/tokens/+`} shortcut="n">
          Create token
        </LinkButton>
      }
    >
      <p className="muted">
        Tools write records with a token.{' '}
        {usage.data && `${usage.data.tokens.active} of ${usage.data.tokens.limit} active.`}
      </p>
      <Loaded query={tokens} what="tokens">
        {(all) => {
          const shown = state === 'all' ? all : all.filter((token) => token.state === state);
          if (all.length === 0) return <Empty>No tokens. Tools need one.</Empty>;
          return (
            <>
              <NativeSelect
                label="Show"
                w="12rem"
                data={[...states]}
                value={state}
                onChange={(event) =>
                  void navigate({
                    to: '/teams/$team/dns/tokens',
                    params: { team },
                    search: { state: event.currentTarget.value },
                    replace: true,
                  })
                }
              />
              {shown.length === 0 ? (
                <Empty>
                  None of the {all.length} tokens is {state}.
                </Empty>
              ) : (
                <Table caption="DNS tokens" columns={columnsOf(team)} rows={shown} rowKey={({ id }) => id} />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

const columnsOf = (team: string): readonly Column<DnsTokenBody>[] => [
  {
    id: 'name',
    label: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => (
      <Link to="/teams/$team/dns/tokens/$id" params={{ team, id }}>
        {name}
      </Link>
    ),
  },
  { id: 'state', label: 'State', sortBy: ({ state }) => state, cell: (token) => <TokenStatus token={token} /> },
  {
    id: 'covers',
    label: 'Covers',
    cell: (token) => <span className="mono">{coverageText({ ownerLabel: team, ...token })}</span>,
  },
  {
    id: 'by',
    label: 'Created by',
    sortBy: ({ createdBy }) => createdBy?.email ?? '',
    cell: ({ createdBy }) => createdBy?.email ?? 'the team',
  },
  {
    id: 'used',
    label: 'Last used',
    sortBy: ({ lastUsedAt }) => lastUsedAt ?? '',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
  {
    id: 'ends',
    label: 'Ends',
    sortBy: ({ expiresAt }) => expiresAt ?? '9',
    cell: ({ expiresAt }) => <Expiry at={expiresAt} />,
  },
];
