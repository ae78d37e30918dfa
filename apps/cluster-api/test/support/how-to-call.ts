import { type ClusterRoute, clusterRequestExamples } from '@corral/contracts';

/*
 * How any row of the route table is called: what its path names, and what is sent. New routes are met without a line
 * here, unless their paths hold a name that no other path has.
 */

/** What names in paths are filled with: nothing that exists. */
export const absentNames: Readonly<Record<string, string>> = {
  name: 'none',
  cluster: 'none',
  pool: 'none',
  ref: 'none',
  id: '00000000-0000-4000-8000-000000000000',
  server_id: '4000000000',
};
/** Of no team. */
export const ABSENT_TEAM = { slug: 'no-such-team', number: '2000000000' } as const;

export interface NamedTeam {
  readonly slug: string;
  readonly number: string;
}

export const pathParametersOf = ({ path }: ClusterRoute): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);

export const namesTeam = (route: ClusterRoute): boolean =>
  pathParametersOf(route).some((name) => /^team(_slug|_id)?$/.test(name));

/** @throws Error for a name that nobody has said how to fill */
export function pathOf({ path }: ClusterRoute, team: NamedTeam, names: Readonly<Record<string, string>> = {}): string {
  const filled: Record<string, string> = {
    ...absentNames,
    ...names,
    ...{ team: team.slug, team_slug: team.slug, team_id: team.number },
  };
  return path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = filled[name];
    if (value === undefined) throw new Error(`absentNames has no ${name}, which the path ${path} holds.`);
    return encodeURIComponent(value);
  });
}

/** The first example of the documentation; null where nothing is sent. @throws Error when there is none */
export function bodyOf({ operationId, body }: ClusterRoute): object | null {
  if (body === undefined) return null;
  const [example] = Object.values(clusterRequestExamples[operationId] ?? {});
  if (example === undefined) throw new Error(`clusterRequestExamples has no ${operationId}.`);
  return example.value as object;
}

/** Headers without which a call would not end: a stream is begun where there is no place to begin at. */
export const headersOf = (route: ClusterRoute): Record<string, string> =>
  route.events ? { 'last-event-id': 'none' } : {};
