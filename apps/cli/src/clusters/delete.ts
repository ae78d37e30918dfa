import type { Cli } from '../cli.js';
import { CliExit, usageError } from '../exit-codes.js';
import { confirmCount, confirmName, readAllBytes } from '../output/ask.js';
import {
  deletedText,
  deletionText,
  nameOfDeleted,
  type PlannedDeletion,
  planDeletion,
  sendDeletion,
} from './deletions.js';
import { readDocuments } from './documents.js';
import { endOperation, type LifecycleOptions } from './end-operation.js';
import { deletionStep, report, runSteps, untouched } from './outcomes.js';
import { isDeletion, placeOf, planEach, plansText, reportUnplanned, showPlans, unplanned } from './plan-documents.js';
import { connectTeam, findCluster, getCluster, listClustersOf, noCluster, type TeamApi } from './team-api.js';

interface DeleteOptions extends LifecycleOptions {
  readonly file?: string[];
  readonly yes?: boolean;
  readonly ignoreNotFound?: boolean;
}

export async function deleteClusters(cli: Cli, name: string | undefined, options: DeleteOptions): Promise<void> {
  const { file } = options;
  if ((file === undefined) === (name === undefined)) throw usageError('Name a cluster, or files with -f.');
  const api = await connectTeam(cli);
  await (file === undefined ? deleteOne(cli, api, name as string, options) : deleteFiles(cli, api, file, options));
}

async function deleteOne(cli: Cli, api: TeamApi, name: string, options: DeleteOptions): Promise<void> {
  const found = options.ignoreNotFound ? await findCluster(api, name) : await getCluster(api, name);
  if (found === null) {
    cli.result({ name, result: 'absent', operation: null }, `${name} does not exist\n`);
    return;
  }
  if (options.dryRun || !options.yes) {
    const planned = await planDeletion(api, found);
    if (options.dryRun) {
      cli.result(planned.deletion, () => deletionText(planned));
      return;
    }
    cli.note(deletionText(planned).trimEnd());
    await confirmName(cli.io, `This cannot be undone.`, name, false);
  }
  await endOperation(cli, api, { name, ...(await sendDeletion(api, found)), options });
}

/** Deletes the clusters that files name, all or none. What else the files say has no meaning. */
async function deleteFiles(cli: Cli, api: TeamApi, files: readonly string[], options: DeleteOptions): Promise<void> {
  const { dryRun = false, yes = false, ignoreNotFound = false, wait = false, timeout } = options;
  const documents = await readDocuments(files, () => readAllBytes(cli.io), api.team);
  const clusters = new Map((await listClustersOf(api)).map((cluster) => [cluster.metadata.name, cluster]));
  const isAbsent = (name: string) => ignoreNotFound && !clusters.has(name);
  const absent = documents.flatMap((each) => ('problem' in each || !isAbsent(each.name) ? [] : [each.name]));
  const wanted = documents.filter((each) => 'problem' in each || !isAbsent(each.name));
  const attempts = await planEach(cli, wanted, placeOf, async (document) => {
    if ('problem' in document) return unplanned(document);
    const cluster = clusters.get(document.name);
    if (cluster === undefined) throw noCluster(api, document.name);
    return planDeletion(api, cluster);
  });
  if (dryRun) showPlans(cli, attempts);
  else cli.note(plansText(cli, attempts).trimEnd());
  const end = reportUnplanned(cli, attempts);
  if (end !== null) {
    if (!dryRun) cli.alert('Nothing was changed.');
    throw new CliExit(end);
  }
  if (dryRun) return;
  const deletions = attempts.filter(isDeletion);
  if (!yes && deletions.length > 0) await confirmDeletions(cli, deletions);
  const waiting = { wait, endsAt: performance.now() + timeout };
  const outcomes = await runSteps(cli, api, deletions.map(deletionStep(api)), waiting);
  report(cli, [...outcomes, ...absent.map((name) => untouched(name, 'absent'))]);
}

function confirmDeletions({ io }: Cli, deletions: readonly PlannedDeletion[]): Promise<void> {
  const names = deletions.map(nameOfDeleted);
  const sentence = `${deletedText(names, 'cluster')} It cannot be undone.`;
  return names.length === 1
    ? confirmName(io, sentence, names.join(), false)
    : confirmCount(io, sentence, names.length, '--yes');
}
