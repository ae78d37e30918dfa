import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCorralError } from '@corral/client';
import { apiVersion } from '@corral/contracts';
import { contentOf, sortedSets, writableSets } from '@corral/domain';
import type { Cli } from '../cli.js';
import { declaredClusters, documentOf, documentsText } from '../clusters/export.js';
import { connectTeam, listClustersOf, type TeamApi } from '../clusters/team-api.js';
import { connectZone } from '../dns/dns-zone.js';
import { usageError } from '../exit-codes.js';
import { accessOperations } from './access.js';

/** Writes what a team declares as `apply` takes it: files into a folder, or everything as the result. */
export async function exportTeam(cli: Cli, folder: string | undefined): Promise<void> {
  const api = await connectTeam(cli);
  const files = {
    'clusters.yaml': declaredClusters(cli, await listClustersOf(api)),
    'records.yaml': await orLeftOut(cli, 'Record sets', () => recordsOf(cli, api)),
    'access.yaml': await orLeftOut(cli, 'Service accounts and trusted issuers', () => accessOf(api)),
  };
  cli.note('Connections, people and tokens are left out: they have secrets, or begin with an invitation.');
  const documents = Object.values(files).flat();
  if (documents.length === 0) throw usageError('There is nothing to export.');
  if (folder === undefined) return cli.result(documents, () => documentsText(documents));
  const written = Object.entries(files).filter(([, contents]) => contents.length > 0);
  try {
    await mkdir(folder, { recursive: true });
    for (const [name, contents] of written) await writeFile(join(folder, name), documentsText(contents));
  } catch (error) {
    throw usageError(`${folder} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
  const paths = written.map(([name]) => join(folder, name));
  cli.result(paths, () => `${paths.join('\n')}\n`);
}

/** What the caller may not read is left out, with a note. */
async function orLeftOut(cli: Cli, what: string, read: () => Promise<object[]>): Promise<object[]> {
  try {
    return await read();
  } catch (error) {
    if (!isCorralError(error) || error.status !== 403) throw error;
    cli.note(`${what} are left out: you have no access to them.`);
    return [];
  }
}

/** One document. What says nothing, such as a comment that is empty, is left out. */
async function recordsOf(cli: Cli, { team }: TeamApi): Promise<object[]> {
  const { list, context } = await connectZone(cli);
  const recordSets = sortedSets(writableSets(await list(), context)).map((rrset) => {
    const { ttl, labels, records } = contentOf(rrset);
    return {
      name: rrset.name,
      type: rrset.type,
      ...(ttl === null ? {} : { ttl }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      records: records.map(({ value, comment }) => (comment === null ? { value } : { value, comment })),
    };
  });
  return recordSets.length === 0 ? [] : [{ apiVersion, kind: 'RecordSets', metadata: { team }, spec: { recordSets } }];
}

async function accessOf(api: TeamApi): Promise<object[]> {
  const lists = await Promise.all(Object.values(accessOperations).map(({ list }) => list(api)));
  return lists.flat().map(documentOf);
}
