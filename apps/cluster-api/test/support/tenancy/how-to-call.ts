import { type ClusterRoute, clusterRequestExamples } from '@corral/contracts';

/*
 * Builds a request for any row of the route table. New routes need no change here, unless their paths have a new
 * parameter.
 */

/** Values for path parameters that name nothing existing. */
export const absentNames: Readonly<Record<string, string>> = {
  name: 'none',
  cluster: 'none',
  pool: 'none',
  ref: 'none',
  account: 'none',
  issuer: 'none',
  webhook: 'none',
  host: 'none',
  id: '00000000-0000-4000-8000-000000000000',
  server_id: '4000000000',
  user_code: 'BBBB-BBBB',
};
/** A team that does not exist. */
export const ABSENT_TEAM = { slug: 'no-such-team', number: '2000000000' } as const;

export interface NamedTeam {
  readonly slug: string;
  readonly number: string;
}

export const pathParametersOf = ({ path }: ClusterRoute): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);

export const namesTeam = (route: ClusterRoute): boolean =>
  pathParametersOf(route).some((name) => /^team(_slug|_id)?$/.test(name));

/** @throws Error for a path parameter without a value */
export function pathOf(
  { path, isDryRun }: ClusterRoute,
  team: NamedTeam,
  names: Readonly<Record<string, string>> = {},
): string {
  const filled: Record<string, string> = {
    ...absentNames,
    ...names,
    team: team.slug,
    team_slug: team.slug,
    team_id: team.number,
  };
  const query = isDryRun ? '?dryRun=true' : '';
  return path.concat(query).replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = filled[name];
    if (value === undefined) throw new Error(`absentNames has no ${name}, which the path ${path} holds.`);
    return encodeURIComponent(value);
  });
}

/** The documented example. Null for a route without a body. @throws Error when there is no example */
export function bodyOf({ operationId, body }: ClusterRoute): object | null {
  if (body === undefined) return null;
  const example = clusterRequestExamples[operationId];
  if (example === undefined) throw new Error(`clusterRequestExamples has no ${operationId}.`);
  return example;
}

/** An event stream with an invalid id is refused instead of staying open. */
export const headersOf = (route: ClusterRoute): Record<string, string> => ({
  ...(route.events ? { 'last-event-id': 'none' } : {}),
  ...(route.form === 'only' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
});

/** The body as it is sent. */
export const encodedBodyOf = (route: ClusterRoute, body: object): string =>
  route.form === 'only' ? String(new URLSearchParams(body as Record<string, string>)) : JSON.stringify(body);
