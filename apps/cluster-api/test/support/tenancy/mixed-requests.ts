import { type ClusterRoute, clusterRoutes } from '@corral/contracts';
import fc from 'fast-check';
import { ABSENT_TEAM, absentNames, bodyOf, encodedBodyOf, headersOf, pathOf, pathParametersOf } from './how-to-call.js';
import type { FurnishedTeam } from './two-teams.js';

type Whose = 'own' | 'foreign' | 'absent';
/** Selects a resource by owner and index. */
interface Choice {
  readonly whose: Whose;
  readonly at: number;
}

export interface MixedRequest {
  readonly route: ClusterRoute;
  readonly caller: 'admin' | 'member' | 'anonymous';
  readonly team: Whose;
  /** By path parameter, and `body`: the connection that the body refers to. */
  readonly choices: Readonly<Record<string, Choice>>;
  readonly query: readonly (readonly [name: string, Choice])[];
  readonly key: Choice | null;
  /** Of `If-Match`. */
  readonly tag: Choice | null;
}

/** Routes that are left out, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  signOut: 'it ends the session of the request',
  signOutEverywhere: 'it ends the session of the request',
  startSignIn: 'it redirects to a provider that does not exist',
  finishSignIn: 'only a provider can build a valid request',
  devSignIn: 'it signs in as another user',
};
const routes = (clusterRoutes as readonly ClusterRoute[]).filter(({ operationId }) => !(operationId in leftOut));

const whose = (own: number, foreign: number, absent: number) =>
  fc.oneof(
    { weight: own, arbitrary: fc.constant<Whose>('own') },
    { weight: foreign, arbitrary: fc.constant<Whose>('foreign') },
    { weight: absent, arbitrary: fc.constant<Whose>('absent') },
  );
const choice: fc.Arbitrary<Choice> = fc.record({ whose: whose(4, 5, 1), at: fc.nat(1_000) });

const requestTo = (route: ClusterRoute): fc.Arbitrary<MixedRequest> =>
  fc.record({
    route: fc.constant(route),
    caller: fc.constantFrom('admin', 'admin', 'member', 'member', 'member', 'anonymous'),
    team: whose(15, 4, 1),
    choices: fc.record(Object.fromEntries(['body', ...pathParametersOf(route)].map((name) => [name, choice]))),
    query: fc
      .subarray(
        (route.query ?? []).map(({ name }) => name),
        { maxLength: Math.min(2, route.query?.length ?? 0) },
      )
      .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), choice)))),
    key: fc.option(choice, { freq: 3 }),
    tag: fc.option(choice, { freq: 6 }),
  });

/** One request to every route, in random order. */
export const mixedRequests: fc.Arbitrary<MixedRequest[]> = fc
  .shuffledSubarray(routes, { minLength: routes.length })
  .chain((each) => fc.tuple(...each.map(requestTo)));

export interface Filled {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Values that point to resources elsewhere than in paths, read after the teams were set up. */
export interface Extras {
  readonly cursors: Readonly<Record<'own' | 'foreign', readonly string[]>>;
  readonly tags: Readonly<Record<'own' | 'foreign', readonly string[]>>;
}

type Sides = Readonly<Record<'own' | 'foreign', FurnishedTeam>>;

/**
 * Renders the request.
 *
 * @param swap `absent` replaces foreign names by names of nothing, which gives the twin of a request
 */
export function fill(request: MixedRequest, sides: Sides, extras: Extras, swap: 'foreign' | 'absent'): Filled {
  const { route } = request;
  const seen = (of: Whose): Whose => (of === 'foreign' ? swap : of);
  const handle = (kind: string, { whose: of, at }: Choice, absent: string): string => {
    const named = of === 'absent' ? undefined : pick(sides[of].handles[kind] ?? [], at);
    // A name that both teams have is not a secret.
    const isOwn = named !== undefined && sides.own.handles[kind]?.includes(named);
    return named !== undefined && (isOwn || seen(of) !== 'absent') ? named : absent;
  };
  const last = pathParametersOf(route).at(-1);
  const names = Object.fromEntries(
    Object.entries(request.choices).map(([name, chosen]) => [
      name,
      // A PUT to a foreign or absent name would create that name in the caller's team.
      route.method === 'put' && name === last && isNamedByItsOwner(name) && chosen.whose !== 'own'
        ? `fresh-${chosen.at % 7}`
        : handle(name, chosen, absentNames[name] ?? 'none'),
    ]),
  );
  const team = request.team === 'absent' ? ABSENT_TEAM : nameOf(sides[request.team]);
  const query = new URLSearchParams(
    request.query.map(([name, chosen]): [string, string] => [name, queryValue(route, name, chosen, handle, extras)]),
  );
  const headers: Record<string, string> = { ...headersOf(route) };
  if (route.idempotent && request.key !== null) headers['idempotency-key'] = `shared-${request.key.at % 5}`;
  if (route.conditional && request.tag !== null) {
    const of = seen(request.tag.whose);
    headers['if-match'] = of === 'absent' ? '"none"' : (pick(extras.tags[of], request.tag.at) ?? '"none"');
  }
  const body = bodyOf(route);
  if (body !== null) headers['content-type'] ??= 'application/json';
  const ref = handle('ref', request.choices.body as Choice, 'none');
  const path = pathOf(route, team, names);
  return {
    method: route.method.toUpperCase(),
    path: query.size === 0 ? path : `${path}?${query}`,
    headers,
    body:
      body === null
        ? null
        : encodedBodyOf(route, body).replaceAll('"connectionRef":"main"', `"connectionRef":"${ref}"`),
  };
}

const isNamedByItsOwner = (parameter: string): boolean =>
  ['name', 'pool', 'ref', 'account', 'issuer', 'webhook'].includes(parameter);
const nameOf = ({ team, number }: FurnishedTeam) => ({ slug: team.slug, number });
const pick = (all: readonly string[], at: number): string | undefined => all[at % Math.max(1, all.length)];

function queryValue(
  { query = [] }: ClusterRoute,
  name: string,
  chosen: Choice,
  handle: (kind: string, choice: Choice, absent: string) => string,
  { cursors }: Extras,
): string {
  const parameter = query.find((each) => each.name === name);
  if (parameter?.values !== undefined) return pick(parameter.values, chosen.at) ?? '';
  if (parameter?.type === 'boolean') return 'true';
  if (parameter?.type === 'integer') return String(1 + (chosen.at % 20));
  if (parameter?.type === 'time') return '2026-11-21T12:00:00Z';
  // A cursor is only a position in an order, so a foreign one is sent in both twins.
  if (name === 'cursor') return pick(cursors[chosen.whose === 'own' ? 'own' : 'foreign'], chosen.at) ?? 'WyJub25lIl0';
  return handle(chosen.at % 2 === 0 ? 'text' : 'id', chosen, 'none');
}
