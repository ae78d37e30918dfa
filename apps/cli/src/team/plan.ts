import { type ChangePlan, keyOf, planChanges, type SetChange, type WantedSet, writableSets } from '@corral/domain';
import type { Cli } from '../cli.js';
import {
  type Attempt,
  isChange,
  isDeletion,
  isUnplanned,
  planAll,
  type Unplanned,
  unplanned,
} from '../clusters/plan-documents.js';
import { hasEffects, placed } from '../clusters/planned-change.js';
import type { TeamApi } from '../clusters/team-api.js';
import { connectZone, type DnsZone } from '../dns/dns-zone.js';
import type { BadDocument } from '../documents/documents.js';
import { usageError } from '../exit-codes.js';
import { endOf } from '../output/report-error.js';
import { type AccessChange, planAccess } from './access.js';
import { kindNames, type SetOfTeam, type TeamDocument } from './documents.js';

type PlannedCluster = Exclude<Attempt, Unplanned>;

/** What files would do to a team. */
export interface TeamPlan {
  readonly clusters: readonly PlannedCluster[];
  /** Null if no record set is declared. */
  readonly sets: SetsPlan | null;
  readonly access: readonly AccessChange[];
  /** Nothing is changed while there is one. */
  readonly wrong: readonly Unplanned[];
}

export interface SetsPlan {
  readonly zone: DnsZone;
  readonly plan: ChangePlan;
}

/**
 * Plans everything, also where some of it is wrong.
 *
 * @param isPruning also plans the deletion of what no file names, of the kinds that files have
 */
export async function planTeam(
  cli: Cli,
  api: TeamApi,
  documents: readonly (TeamDocument | BadDocument)[],
  isPruning: boolean,
): Promise<TeamPlan> {
  const bad = documents.filter((each) => 'problem' in each);
  const of = <K extends TeamDocument['kind']>(kind: K) =>
    documents.filter((each): each is Extract<TeamDocument, { kind: K }> => !('problem' in each) && each.kind === kind);
  const clusters = of('Cluster').map(({ cluster }) => cluster);
  const declaredSets = of('RecordSet');
  const accesses = [...of('ServiceAccount'), ...of('TrustedIssuer')];
  const attempts = await planAll(cli, api, clusters, isPruning && clusters.length > 0);
  const sets = await orWrong(cli, declaredSets, null, () => planSets(cli, api, declaredSets, isPruning));
  const access = await orWrong(cli, accesses, [], () => planAccess(api, accesses, isPruning));
  return {
    clusters: attempts.filter((each): each is PlannedCluster => !isUnplanned(each)),
    sets: sets.plan,
    access: access.plan,
    wrong: [
      ...bad.map(unplanned),
      ...attempts.filter(isUnplanned),
      ...sets.wrong,
      ...refusedSets(sets.plan?.plan),
      ...access.wrong,
    ],
  };
}

/** What keeps all documents of a kind from being planned is said once, with the place of the first. */
async function orWrong<T>({ io }: Cli, [first]: readonly TeamDocument[], none: T, plan: () => Promise<T>) {
  try {
    return { plan: first === undefined ? none : await plan(), wrong: [] };
  } catch (error) {
    if (io.signal.aborted || first === undefined) throw error;
    const { name, source } = first;
    return { plan: none, wrong: [{ name, source, failure: endOf(placed(first, error), io) }] };
  }
}

async function planSets(
  cli: Cli,
  { team }: TeamApi,
  declared: readonly SetOfTeam[],
  isPruning: boolean,
): Promise<SetsPlan> {
  const zone = await connectZone(cli);
  if (zone.facts.team !== team)
    throw usageError(`The DNS token is one of ${zone.facts.team ?? 'a demo'}, and you act for ${team}.`);
  const actual = await zone.list();
  const named = new Set(declared.map(({ name }) => name));
  const unnamed = isPruning ? writableSets(actual, zone.context).filter((rrset) => !named.has(keyOf(rrset))) : [];
  const removals = unnamed.map(({ name, type }): WantedSet => ({ name, type, content: null }));
  const wanted = [...declared.map(({ set }) => set), ...removals];
  return { zone, plan: planChanges(actual, wanted, zone.context) };
}

function refusedSets(plan: ChangePlan | undefined): Unplanned[] {
  if (plan === undefined) return [];
  const refused = (source: string, sentence: string, name: string | null = null): Unplanned => ({
    source,
    name,
    failure: { reason: 'refused', sentence },
  });
  const { quotaProblem } = plan;
  return [
    ...plan.refused.map(({ key, source = key, refusal }) => refused(source, `${source}: ${key}: ${refusal}`, key)),
    ...(quotaProblem === null ? [] : [refused('record sets', quotaProblem)]),
  ];
}

export const setChanges = ({ sets }: TeamPlan): SetChange[] => sets?.plan.waves.flat() ?? [];

/** What no file names and the plan deletes, as people call it. */
export const deletedBy = (plan: TeamPlan): string[] => [
  ...plan.clusters.filter(isDeletion).map(({ cluster }) => `${kindNames.Cluster} ${cluster.metadata.name}`),
  ...setChanges(plan).flatMap(({ key, to }) => (to === null ? [`${kindNames.RecordSet} ${key}`] : [])),
  ...plan.access.flatMap(({ kind, name, to }) => (to === null ? [`${kindNames[kind]} ${name}`] : [])),
];

export const changesAnything = (plan: TeamPlan): boolean =>
  plan.clusters.some((each) => isDeletion(each) || (isChange(each) && hasEffects(each))) ||
  setChanges(plan).length + plan.access.length > 0;
