import type { AccountTokenListBody, CreatedAccountTokenBody, ServiceAccountBody } from '@corral/contracts';
import { clusterLimits } from '@corral/contracts';
import { NumberInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { accountsQuery, accountTokensQuery, issuersQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { DangerAction } from '../ui/danger.js';
import { Page, Section } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Empty, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { LoadedTable } from '../ui/table.js';
import { Expiry, Time, useNow } from '../ui/time.js';
import { actionsProblem, draftOf, isActiveToken, RobotFields, specOf } from './robot-fields.js';

/** One service account: what it may do, its tokens, its end. */
export function RobotPage() {
  const { team, account } = useParams({ from: '/signed-in/teams/$team/access/robots/$account' });
  const accounts = useQuery(accountsQuery(team));
  return (
    <Page title={account}>
      <Loaded query={accounts} what="the robot">
        {(all) => {
          const robot = all.find(({ metadata }) => metadata.name === account);
          if (robot === undefined) return <Empty>There is no robot {account}. It may have been deleted.</Empty>;
          return (
            <>
              <Tokens account={account} />
              <Rights key={robot.metadata.updatedAt} robot={robot} />
              <DeleteRobot account={account} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

interface RobotProps {
  readonly account: string;
}

const DAYS_DEFAULT = 90;

function Tokens({ account }: RobotProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const now = useNow();
  const tokens = useQuery(accountTokensQuery(team, account));
  const [created, setCreated] = useState<CreatedAccountTokenBody | null>(null);
  const form = useApiForm({
    initial: { expiresInDays: DAYS_DEFAULT },
    send: (body) => bodyOf(corral.createAccountToken({ team, account }, { body })),
    onSaved: async (token) => {
      setCreated(token);
      await cache.invalidateQueries({ queryKey: accountTokensQuery(team, account).queryKey });
    },
  });
  const active = tokens.data?.filter((token) => isActiveToken(token, now)).length ?? 0;
  const isFull = active >= clusterLimits.accountTokensActive;
  return (
    <Section title="Tokens">
      <p className="muted">
        {active} of {clusterLimits.accountTokensActive} are active. To rotate: create the second, change the program,
        then revoke the first.
      </p>
      {created !== null && (
        <ShownOnce
          secret={created.token}
          what="the token"
          remedy="If it is lost, revoke it and create another."
          onStored={() => setCreated(null)}
        >
          <p>
            The program sends it as <code>Authorization: Bearer</code>, or has it in <code>CORRAL_TOKEN</code>. It ends{' '}
            <Expiry at={created.expiresAt} />.
          </p>
        </ShownOnce>
      )}
      {created === null && !isFull && (
        <ApiFormFrame form={form} action="Create token" failure="No token was created." isRow>
          <NumberInput
            label="Lifetime (days)"
            min={1}
            max={clusterLimits.accountTokenDays}
            allowDecimal={false}
            {...form.fields.getInputProps('expiresInDays')}
          />
        </ApiFormFrame>
      )}
      <LoadedTable
        query={tokens}
        what="the tokens"
        empty="No tokens. A robot of a trusted issuer needs none."
        caption={`Tokens of ${account}`}
        rowKey={({ id }) => id}
        columns={{
          Token: (token) => <span className="mono">…{nameOf(token)}</span>,
          State: (token) => <TokenState token={token} now={now} />,
          'Last used': ({ lastUsedAt }) => <LastUse at={lastUsedAt} />,
          Ends: ({ expiresAt }) => <Expiry at={expiresAt} />,
          Created: ({ createdAt }) => <Time at={createdAt} />,
          By: { isLong: true, cell: ({ createdBy }) => createdBy?.displayName ?? 'a former user' },
          Actions: {
            alignEnd: true,
            cell: (token) => isActiveToken(token, now) && <RevokeToken account={account} token={token} />,
          },
        }}
      />
    </Section>
  );
}

type AccountToken = AccountTokenListBody['items'][number];

/** Tokens have no names: the end of their id tells them apart. */
const nameOf = ({ id }: AccountToken): string => id.slice(-8);

function RevokeToken({ account, token }: RobotProps & { readonly token: AccountToken }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const revoke = async () => {
    await corral.revokeAccountToken({ team, account, id: token.id });
    announce('Revoked the token');
    await cache.invalidateQueries({ queryKey: accountTokensQuery(team, account).queryKey });
  };
  return (
    <DangerAction
      label="Revoke"
      target={nameOf(token)}
      title={`Revoke a token of ${account}`}
      confirmation={account}
      action="Revoke token"
      onConfirm={revoke}
    >
      <p>The next request with it is refused. This cannot be undone.</p>
      <p>
        Last used: <LastUse at={token.lastUsedAt} />.
      </p>
    </DangerAction>
  );
}

const LastUse = ({ at }: { readonly at: string | null }) => (at === null ? 'never' : <Time at={at} />);

function TokenState({ token, now }: { readonly token: AccountToken; readonly now: number }) {
  if (isActiveToken(token, now)) return <Status tone="good">active</Status>;
  return <Status tone="idle">{token.revokedAt === null ? 'expired' : 'revoked'}</Status>;
}

function Rights({ robot }: { readonly robot: ServiceAccountBody }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const account = robot.metadata.name;
  const form = useApiForm({
    initial: draftOf(robot.spec),
    check: ({ actions }) => ({ actions: actionsProblem(actions) }),
    send: (draft) => corral.putServiceAccount({ team, account }, { body: { spec: specOf(draft) } }),
    onSaved: async () => {
      announce(`Changed the rights of ${account}`);
      await cache.invalidateQueries({ queryKey: accountsQuery(team).queryKey, exact: true });
    },
  });
  return (
    <Section title="Rights">
      <p className="muted">A change is effective with the next request. Tokens by exchange end at once.</p>
      <ApiFormFrame form={form} label="Rights" action="Save rights" failure="The rights were not changed.">
        <RobotFields fields={form.fields} />
      </ApiFormFrame>
    </Section>
  );
}

function DeleteRobot({ account }: RobotProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const issuers = useQuery(issuersQuery(team));
  const remove = async () => {
    await corral.deleteServiceAccount({ team, account });
    announce(`Deleted the robot ${account}`);
    await navigate({ to: '/teams/$team/access', params: { team } });
    await cache.invalidateQueries({ queryKey: accountsQuery(team).queryKey });
    await cache.invalidateQueries({ queryKey: issuersQuery(team).queryKey });
  };
  const trusted = issuers.data?.filter(({ spec }) => spec.serviceAccount === account).length ?? 0;
  return (
    <Section title="Delete">
      <div>
        <DangerAction
          label="Delete robot"
          title={`Delete ${account}`}
          confirmation={account}
          action="Delete robot"
          onConfirm={remove}
        >
          <p>Its tokens end at once. Clusters that it made stay.</p>
          {trusted > 0 && <p>{plural(trusted, 'trusted issuer')} of it end as well.</p>}
        </DangerAction>
      </div>
    </Section>
  );
}
