import { ownerLabelOf, type TokenBody } from '@corral/contracts';
import { Button, Group, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { dnsOf, readToken } from '../api/dns-client.js';
import { useTeam } from '../shell/use-team.js';
import { Columns } from '../ui/columns.js';
import { type Fact, Facts } from '../ui/facts.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { CoverageCheck } from './coverage-check.js';

/** Shows what a token that somebody found says about itself. The token is stored nowhere. */
export function ExamineToken() {
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
