import { isCorralError } from '@corral/client';
import {
  clusterLimits,
  joinsByCommand,
  type ProjectServer,
  type ServerArchitecture,
  type ServerKind,
  serverArchitectures,
  serverKinds,
} from '@corral/contracts';
import { Button, Group, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { catalogueQuery, projectServerQuery, projectServersQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Columns } from '../ui/columns.js';
import { Facts } from '../ui/facts.js';
import { moneyRange } from '../ui/money.js';
import { Page } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { useDraft } from '../ui/use-draft.js';
import { type AdoptionDraft, emptyAdoption } from './adoption.js';
import { ConfirmAdoption } from './confirm-adoption.js';
import '../ui/radio.css';

const kindLabels: Readonly<Record<ServerKind, string>> = {
  cloud: 'A server in the cloud project of this connection. Corral rebuilds it.',
  dedicated: 'A dedicated server. You run a join command on it.',
  onprem: 'A machine of your own. You run a join command on it.',
};

/** First which server, with what the provider says about it now; then the acknowledgement. */
export function AdoptServerPage() {
  const { ref: connectionRef } = useParams({ from: '/signed-in/teams/$team/connections/$ref/servers/+' });
  const { slug: team } = useTeam();
  const { number: linked = '' } = useSearch({ from: '/signed-in/teams/$team/connections/$ref/servers/+' });
  const initial = useMemo((): AdoptionDraft => ({ ...emptyAdoption, number: linked }), [linked]);
  const [draft, setDraft, clearDraft] = useDraft<AdoptionDraft>(`adopt.${team}.${connectionRef}.${linked}`, initial);
  const set = (change: Partial<AdoptionDraft>) => setDraft({ ...draft, ...change });
  const isMachine = joinsByCommand(draft.kind);
  const number = draft.number.trim();
  const servers = useQuery({ ...projectServersQuery(team, connectionRef), enabled: !isMachine });
  const isListed = servers.data !== undefined && servers.data.length < clusterLimits.projectServersListed;
  const listed = servers.data?.find(({ serverID }) => String(serverID) === number);
  // The number from the address, or from before a reload, is sought already.
  const [sought, setSought] = useState(number);
  const isSought = !isMachine && number !== '' && sought === number && listed === undefined && !servers.isPending;
  const lookUp = useQuery({ ...projectServerQuery(team, connectionRef, sought), enabled: isSought });
  const found = isMachine ? null : (listed ?? (isSought && lookUp.isSuccess ? lookUp.data : null));
  const error = isSought ? lookUp.error : null;
  const isAbsent = isCorralError(error) && error.status === 404;
  return (
    <Page>
      <Columns
        aside={
          <ConfirmAdoption
            key={`${draft.kind} ${draft.number}`}
            connectionRef={connectionRef}
            draft={draft}
            found={found}
            onAdopted={clearDraft}
          />
        }
      >
        <Radio.Group
          label="Where is the machine?"
          value={draft.kind}
          onChange={(kind) => set({ kind: kind as ServerKind })}
        >
          <Stack gap="xs" mt={4}>
            {serverKinds.map((kind) => (
              <Radio key={kind} value={kind} label={kindLabels[kind]} size="xs" />
            ))}
          </Stack>
        </Radio.Group>
        {!isMachine && (
          <Loaded query={servers} what="the servers of the project">
            {(all) => (
              <ServerChoice
                connectionRef={connectionRef}
                servers={all}
                number={number}
                onChoose={(chosen) => set({ number: chosen })}
              />
            )}
          </Loaded>
        )}
        {(isMachine || error !== null || (!isListed && !servers.isPending)) && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (isSought) void lookUp.refetch();
              else setSought(number);
            }}
          >
            <Group align={isAbsent ? 'center' : 'flex-end'}>
              <TextInput
                label={isMachine ? 'Number' : 'Number of another server'}
                description={
                  isMachine ? 'Yours to choose. No other adopted server of the team may have it.' : undefined
                }
                error={isAbsent && `The project of ${connectionRef} has no such server.`}
                inputMode="numeric"
                value={draft.number}
                onChange={(event) => set({ number: event.currentTarget.value })}
                autoComplete="off"
                required
              />
              {!isMachine && (
                <Button type="submit" loading={lookUp.isFetching}>
                  Look up server
                </Button>
              )}
            </Group>
          </form>
        )}
        {isMachine && <MachineFields draft={draft} onChange={set} />}
        {error !== null && !isAbsent && <Failed error={error} what="The look-up failed." />}
        {found !== null && <FoundServer server={found} />}
      </Columns>
    </Page>
  );
}

function MachineFields({
  draft,
  onChange,
}: {
  readonly draft: AdoptionDraft;
  readonly onChange: (change: Partial<AdoptionDraft>) => void;
}) {
  return (
    <Group align="flex-start">
      <TextInput
        label="Type"
        description="Node pools find the machine by it."
        placeholder="ax42"
        maxLength={clusterLimits.machineTypeCharacters}
        value={draft.serverType}
        onChange={(event) => onChange({ serverType: event.currentTarget.value })}
      />
      <TextInput
        label="Location (a note for your team)"
        placeholder="fsn1-dc14"
        maxLength={clusterLimits.serverWordCharacters}
        value={draft.location}
        onChange={(event) => onChange({ location: event.currentTarget.value })}
      />
      <NativeSelect
        label="Architecture"
        description="That of its processor."
        data={[...serverArchitectures]}
        value={draft.architecture}
        onChange={(event) => onChange({ architecture: event.currentTarget.value as ServerArchitecture })}
      />
    </Group>
  );
}

/** The server as it is now, to recognise the right one. */
function FoundServer({ server }: { readonly server: ProjectServer }) {
  const { name, serverType, location, architecture, state, adoptable, reason } = server;
  return (
    <div aria-live="polite">
      <Stack>
        <div>
          <Status tone={adoptable ? 'good' : 'bad'}>{adoptable ? 'can be adopted' : 'cannot be adopted'}</Status>
        </div>
        <Facts
          facts={[
            { label: 'Name now', value: <strong className="mono">{name}</strong> },
            { label: 'Type', value: serverType },
            { label: 'Location', value: location },
            { label: 'Architecture', value: architecture },
            { label: 'State', value: state },
          ]}
        />
        {reason !== null && <Empty>{reason}</Empty>}
      </Stack>
    </div>
  );
}

interface ServerChoiceProps {
  readonly connectionRef: string;
  readonly servers: readonly ProjectServer[];
  /** What is chosen, or typed: it may be none of the servers. */
  readonly number: string;
  readonly onChoose: (number: string) => void;
}

/** The servers of the project to choose from. Nodes of clusters are not among them. */
function ServerChoice({ connectionRef, servers, number, onChoose }: ServerChoiceProps) {
  const { slug: team } = useTeam();
  const catalogue = useQuery(catalogueQuery(team, connectionRef)).data;
  const priceOf = ({ serverType, location }: ProjectServer): string | null => {
    const type = catalogue?.machineTypes.find(({ name }) => name === serverType);
    const monthly = type?.regions.find(({ name }) => name === location)?.monthly ?? null;
    if (monthly === null) return null;
    return `${moneyRange({ minimum: monthly, maximum: monthly }, catalogue?.currency ?? null)} a month`;
  };
  if (servers.length === 0) {
    return <Empty>The project of {connectionRef} has no server that is not a node of a cluster.</Empty>;
  }
  const options = servers.map((server) => {
    const { serverID, name, serverType, location, state, adoptable } = server;
    const place = `${serverType} in ${location}`;
    const parts = [`${name} (${serverID})`, place, priceOf(server), state, adoptable ? null : 'cannot be adopted'];
    return { value: String(serverID), label: parts.filter((part) => part !== null).join(' · ') };
  });
  const isOther = options.every(({ value }) => value !== number);
  return (
    <NativeSelect
      label="Server"
      data={isOther ? [{ value: '', label: 'Choose a server' }, ...options] : options}
      value={isOther ? '' : number}
      onChange={(event) => onChoose(event.currentTarget.value)}
    />
  );
}
