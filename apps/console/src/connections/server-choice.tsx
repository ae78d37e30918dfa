import type { ProjectServer } from '@corral/contracts';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { catalogueQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { moneyRange } from '../ui/money.js';
import { Empty } from '../ui/states.js';

export interface ServerChoiceProps {
  readonly connectionRef: string;
  readonly servers: readonly ProjectServer[];
  /** What is chosen, or typed: it may be none of the servers. */
  readonly number: string;
  readonly onChoose: (number: string) => void;
}

/** The servers of the project to choose from. Nodes of clusters are not among them. */
export function ServerChoice({ connectionRef, servers, number, onChoose }: ServerChoiceProps) {
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
