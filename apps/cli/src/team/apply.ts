import type { Cli } from '../cli.js';
import type { LifecycleOptions } from '../clusters/end-operation.js';
import {
  changeStep,
  deletionStep,
  done,
  failed,
  type Outcome,
  report,
  runSteps,
  type Step,
  untouched,
} from '../clusters/outcomes.js';
import { type Asked, notePermissions, permit, permittedDeletions } from '../clusters/permission.js';
import { isChange, isDeletion, reportUnplanned } from '../clusters/plan-documents.js';
import { connectTeam, type TeamApi } from '../clusters/team-api.js';
import { writeSets } from '../dns/run-plan.js';
import { readDeclared } from '../documents/documents.js';
import { CliExit } from '../exit-codes.js';
import { readAllBytes } from '../output/ask.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { type AccessChange, type AccessKind, accessOperations } from './access.js';
import { kindNames, type TeamDocument, teamKinds } from './documents.js';
import { changesAnything, deletedBy, planTeam, setChanges, type TeamPlan } from './plan.js';
import { teamPlanBody, teamPlanText } from './plan-text.js';

interface FileOptions {
  readonly file: string[];
  /** Up to how much may be deleted, as it was typed. */
  readonly prune?: true | string;
}

interface ApplyOptions extends LifecycleOptions, FileOptions {
  readonly yes?: boolean;
  readonly allowRemovals?: boolean;
}

/** Plans everything before anything is applied: nothing is changed while one document is wrong. */
export async function applyTeam(cli: Cli, options: ApplyOptions): Promise<void> {
  const permitted = permittedDeletions(options.prune, 'deletions');
  const api = await connectTeam(cli);
  const plan = await planOf(cli, api, options);
  const stages = stagesOf(cli, api, plan, { wait: options.wait === true, endsAt: performance.now() + options.timeout });
  if (options.dryRun) {
    showPlan(cli, plan);
    const end = reportUnplanned(cli, plan.wrong);
    if (end !== null) throw new CliExit(end);
    return notePermissions(cli, askedOf(plan), permitted);
  }
  const text = teamPlanText(cli, plan).trimEnd();
  if (text !== '') cli.note(text);
  if (plan.wrong.length > 0) {
    cli.alert('Nothing was changed.');
    const skipped = stages.flatMap(({ kind, names }) => names.map((name) => ({ kind, ...untouched(name, 'skipped') })));
    return reportTeam(cli, [...plan.wrong.map(wrongOutcome), ...skipped]);
  }
  await permit(cli.io, askedOf(plan), { ...options, permitted });
  reportTeam(cli, await runStages(stages));
}

/** Ends with 1 if there are differences, and with 2 after any error. */
export function diffTeam(cli: Cli, options: FileOptions): Promise<void> {
  return withDiffCodes(cli, async () => {
    const plan = await planOf(cli, await connectTeam(cli), options);
    showPlan(cli, plan);
    if (reportUnplanned(cli, plan.wrong) !== null) throw new CliExit('usage');
    if (changesAnything(plan)) throw new CliExit('refused');
  });
}

async function planOf(cli: Cli, api: TeamApi, { file, prune }: FileOptions): Promise<TeamPlan> {
  const documents = await readDeclared(file, () => readAllBytes(cli.io), {
    kinds: teamKinds,
    team: api.team,
    titleOf: ({ kind, name }) => `The ${kindNames[kind]} ${name}`,
    nothing: 'there is nothing of a team in it',
    most: [10_000, 'documents and record sets'],
  });
  return planTeam(cli, api, documents, prune !== undefined);
}

const showPlan = (cli: Cli, plan: TeamPlan): void => cli.result(teamPlanBody(plan), () => teamPlanText(cli, plan));

const askedOf = (plan: TeamPlan): Asked => ({
  changes: plan.clusters.filter(isChange),
  deleted: deletedBy(plan),
  noun: 'resource',
  hasEffects: changesAnything(plan),
  needsYes: true,
});

type TeamOutcome = Outcome & { readonly kind: TeamDocument['kind'] | null };

const wrongOutcome = ({ name, source, failure }: TeamPlan['wrong'][number]): TeamOutcome => ({
  kind: null,
  ...failed(name ?? source, failure.sentence, failure.reason),
});

const reportTeam = (cli: Cli, outcomes: readonly TeamOutcome[]): void =>
  report(cli, outcomes, { KIND: ({ kind }) => kind, NAME: ({ name }) => name });

/** Changes that are made together. */
interface Stage {
  readonly kind: TeamDocument['kind'];
  readonly names: readonly string[];
  readonly run: () => Promise<Outcome[]>;
}

/** A change of access may end the token that this command works with, so it comes late. Deletions come last. */
function stagesOf(cli: Cli, api: TeamApi, plan: TeamPlan, waiting: Parameters<typeof runSteps>[3]): Stage[] {
  const ofSteps = (kind: Stage['kind'], steps: readonly Step[]): Stage => ({
    kind,
    names: steps.map(({ name }) => name),
    run: () => runSteps(cli, api, steps, waiting),
  });
  const ofAccess = (kind: AccessKind, isWanted: (change: AccessChange) => boolean): Stage =>
    ofSteps(kind, plan.access.filter((change) => change.kind === kind && isWanted(change)).map(accessStep(api)));
  const isKept = ({ to }: AccessChange) => to !== null;
  const isGone = ({ to }: AccessChange) => to === null;
  return [
    ofSteps('Cluster', plan.clusters.filter(isChange).map(changeStep(api))),
    { kind: 'RecordSet', names: setChanges(plan).map(({ key }) => key), run: () => runSets(cli, plan) },
    ofAccess('ServiceAccount', isKept),
    ofAccess('TrustedIssuer', isKept),
    ofAccess('TrustedIssuer', isGone),
    ofAccess('ServiceAccount', isGone),
    ofSteps('Cluster', plan.clusters.filter(isDeletion).map(deletionStep(api))),
  ];
}

/** What comes after a failure is left for the next run. */
async function runStages(stages: readonly Stage[]): Promise<TeamOutcome[]> {
  const outcomes: TeamOutcome[] = [];
  for (const { kind, names, run } of stages) {
    const isOpen = outcomes.every(({ end }) => end === 'ok');
    const ended = isOpen ? await run() : names.map((name) => untouched(name, 'skipped'));
    outcomes.push(...ended.map((outcome) => ({ kind, ...outcome })));
  }
  return outcomes;
}

async function runSets(cli: Cli, plan: TeamPlan): Promise<Outcome[]> {
  if (plan.sets === null) return [];
  const { reason, stopped, failures } = await writeSets(cli, plan.sets.zone, plan.sets.plan);
  if (stopped !== null) cli.alert(stopped);
  return setChanges(plan).map(({ key, from, to }) => {
    const failure = failures.get(key);
    if (failure !== undefined) return failed(key, failure, reason);
    return done(key, resultOf({ from, to }));
  });
}

const resultOf = ({ from, to }: { readonly from: unknown; readonly to: unknown }) =>
  to === null ? 'deleted' : from === null ? 'created' : 'changed';

const accessStep =
  (api: TeamApi) =>
  ({ kind, name, from, to }: AccessChange): Step => ({
    name,
    removals: [],
    async send() {
      const { put, remove } = accessOperations[kind];
      await (to === null ? remove(api, name) : put(api, name, to));
      return { result: resultOf({ from, to }), operationId: null };
    },
  });
