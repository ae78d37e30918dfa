import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Folder, type RunOptions, temporaryFolder } from './support/run-corral.js';
import { aCluster, type FakeClusters, runOn, startClusters } from './support/start-clusters.js';

/* Clusters as files in git declare them: written by `export`, reviewed as a saved plan, deleted when no file names them. */

let folder: Folder;
let api: FakeClusters;
beforeEach(async () => {
  folder = await temporaryFolder();
  api = await startClusters();
  for (const name of ['web', 'api', 'old']) api.clusters.set(name, aCluster({ region: 'hel1' }));
});
afterEach(async () => {
  await api.close();
  await folder.remove();
});

const corral = (args: readonly string[], at: RunOptions = {}) =>
  runOn(api, folder, ['--team', 'acme', 'clusters', ...args], at);
/** A file that declares these clusters. */
async function fileOf(names: readonly string[], spec: object = {}): Promise<string> {
  const file = folder.file('clusters.yaml');
  const documents = names.map((name) =>
    JSON.stringify({
      apiVersion: 'clusters.corral.dev/v1',
      kind: 'Cluster',
      metadata: { name },
      spec: { kubernetesVersion: '1.34', ...spec },
    }),
  );
  await writeFile(file, documents.join('\n---\n'));
  return file;
}
const typed = (input: string) => ({ terminal: true, input });
const left = () => [...api.clusters.keys()];

describe('what is declared', () => {
  it.each(['export', 'export -o yaml', 'export -o json', 'list -o yaml', 'get web -o yaml'])(
    'is taken by `apply` unchanged, as `%s` prints it',
    async (command) => {
      const file = folder.file('exported.yaml');
      const { out } = await corral(command.split(' '));
      await writeFile(file, out);

      expect(await corral(['diff', '-f', file])).toMatchObject({ code: 0, err: '' });
    },
  );

  it('can be exported for some clusters, and says nothing of their status', async () => {
    const { out } = await corral(['export', 'api', '-o', 'json']);

    expect(JSON.parse(out)).toEqual([
      {
        apiVersion: 'clusters.corral.dev/v1',
        kind: 'Cluster',
        metadata: { name: 'api', team: 'acme' },
        spec: api.clusters.get('api')?.spec,
      },
    ]);
    expect(await corral(['export', 'api', 'none'])).toMatchObject({ code: 4, out: '' });
  });
});

describe('what a command says besides its result', () => {
  it('is nothing with --quiet, but for errors', async () => {
    const changed = await fileOf(['web'], { region: 'fsn1' });

    expect(await corral(['apply', '--quiet', '-f', changed])).toMatchObject({ code: 0, err: '' });
    expect(await corral(['export', '-q', 'none'])).toMatchObject({ code: 4, err: expect.stringContaining('none') });
    api.clusters.set('web', aCluster({ deletionProtection: true }));
    const only = await fileOf(['api']);
    expect((await corral(['apply', '-q', '--prune=9', '-f', only])).err).toContain('corral: web: deletion_protected');
  });

  it('is no question with --quiet, whose plan nobody would have seen', async () => {
    const file = await fileOf(['web'], { region: 'fsn1' });
    const { code, err } = await corral(['apply', '--quiet', '-f', file, '--prune'], typed('2\n'));

    expect([code, err]).toEqual([2, expect.stringContaining('Pass --prune=2 to confirm')]);
    expect(api.sent).toEqual([]);
  });

  it('is each request with --verbose, without the token', async () => {
    const { code, err } = await corral(['get', 'web', '-o', 'json', '--verbose'], {
      env: { CORRAL_TOKEN: 'corral_secret' },
    });

    expect(code).toBe(0);
    expect(err).toMatch(/^GET http:\/\/\S+\/api\/v1\/teams\/acme\/clusters\/web\/: 200, \d+ ms$/m);
    expect(err).not.toContain('corral_secret');
  });

  it('is no question with --no-input, even on a terminal', async () => {
    expect(await corral(['delete', 'web', '--no-input'], typed('web\n'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('--yes'),
    });
    expect(left()).toContain('web');
  });
});

describe('what a file leaves to people', () => {
  const writeIgnoring = async (spec: object) => {
    const file = await fileOf(['web'], spec);
    const document = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...document, 'x-corral': { ignore: ['region'] } }));
    return file;
  };

  it('stays as it is when the rest is applied, also from a saved plan', async () => {
    const file = await writeIgnoring({ region: 'fsn1', hibernated: true });
    const plan = folder.file('plan.json');
    await corral(['plan', '-f', file, '--out', plan]);

    expect(await corral(['apply', plan])).toMatchObject({ code: 0 });
    expect(api.clusters.get('web')?.spec).toMatchObject({ region: 'hel1', hibernated: true });
    expect((await corral(['diff', '-f', file])).code).toBe(0);
  });
});

describe('clusters that no file names', () => {
  it('stay unless they are to be pruned', async () => {
    expect(await corral(['apply', '-f', await fileOf(['web', 'api'])])).toMatchObject({ code: 0 });
    expect(left()).toContain('old');
  });

  it.each<[what: string, option: string, at: RunOptions]>([
    ['up to the number that is permitted', '--prune=1', {}],
    ['after the number was typed', '--prune', typed('1\n')],
    ['after yes where their number is permitted', '--prune=2', typed('y\n')],
  ])('are deleted %s, after the changes', async (_what, option, at) => {
    const file = await fileOf(['web', 'api'], { region: 'fsn1' });
    const { code, err } = await corral(['apply', option, '-f', file], at);

    expect({ code, last: api.sent.at(-1), left: left() }).toEqual({
      code: 0,
      last: 'DELETE old',
      left: ['web', 'api'],
    });
    expect(err).toContain('- cluster old');
  });

  it.each<[what: string, options: string[], at: RunOptions, message: string]>([
    [
      'where nobody can be asked',
      ['--prune', '--yes'],
      {},
      'This deletes 2 clusters that no file names: api, old. No terminal to prompt on. Pass --prune=2 to confirm',
    ],
    ['where fewer are permitted', ['--prune=1'], {}, 'Pass --prune=2 to confirm'],
    ['after another number', ['--prune', '--yes'], typed('y\n'), 'That is not the number. Nothing was changed.'],
  ])('stay %s', async (_what, options, at, message) => {
    const file = await fileOf(['web'], { region: 'fsn1' });
    const { code, err } = await corral(['apply', ...options, '-f', file], at);

    expect({ code: code > 0, sent: api.sent }).toEqual({ code: true, sent: [] });
    expect(err).toContain(message);
  });

  it('stay, and nothing else is changed, while one of them is protected', async () => {
    api.clusters.set('old', aCluster({ deletionProtection: true }));
    const file = await fileOf(['web', 'api'], { region: 'fsn1' });

    expect(await corral(['apply', '--prune=1', '-f', file])).toMatchObject({
      code: 5,
      err: expect.stringContaining('old: deletion_protected.'),
    });
    expect(api.sent).toEqual([]);
  });

  it('are said by a dry run, and are differences', async () => {
    const file = await fileOf(['web', 'api']);

    expect(await corral(['apply', '--dry-run', '--prune', '-f', file])).toMatchObject({
      code: 0,
      out: expect.stringContaining('- cluster old'),
      err: 'This deletes 1 cluster that no file names: old. It needs --prune=1.\n',
    });
    expect((await corral(['diff', '-f', file])).code).toBe(0);
    expect((await corral(['diff', '--prune', '-f', file])).code).toBe(1);
  });
});

describe('deleting what files name', () => {
  it.each<[what: string, names: string[], at: RunOptions, options: string[]]>([
    ['one after its name was typed', ['old'], typed('old\n'), []],
    ['several after their number was typed', ['old', 'api'], typed('2\n'), []],
    ['without a terminal by --yes', ['old', 'api'], {}, ['--yes']],
    ['but not what is absent, if that may be', ['old', 'none'], {}, ['--yes', '--ignore-not-found']],
  ])('deletes %s', async (_what, names, at, options) => {
    const { code, err } = await corral(['delete', '-f', await fileOf(names), ...options], at);

    expect(code).toBe(0);
    expect(left().filter((name) => names.includes(name))).toEqual([]);
    expect(left()).toContain('web');
    expect(err).toContain('- cluster old');
  });

  it.each<[what: string, names: string[], options: string[], code: number, message: string]>([
    ['nobody can be asked', ['old', 'api'], [], 2, 'This deletes 2 clusters: old, api. It cannot be undone.'],
    ['one does not exist', ['old', 'none'], ['--yes'], 4, 'Team acme has no cluster none'],
  ])('deletes nothing while %s', async (_what, names, options, code, message) => {
    expect(await corral(['delete', '-f', await fileOf(names), ...options])).toMatchObject({
      code,
      err: expect.stringContaining(message),
    });
    expect(api.sent).toEqual([]);
  });
});

describe('a saved plan', () => {
  const save = async (spec: object = { region: 'fsn1' }) => {
    const plan = folder.file('plan.json');
    const saved = await corral(['plan', '--prune', '-f', await fileOf(['web', 'new'], spec), '--out', plan]);
    expect(saved).toMatchObject({ code: 0, out: expect.stringContaining('+ cluster new') });
    return plan;
  };

  it('is carried out without a question, also when only the status has changed', async () => {
    const plan = await save();
    api.clusters.set('web', { ...aCluster({ region: 'hel1' }), revision: 2 });

    expect(await corral(['apply', plan])).toMatchObject({ code: 0 });
    expect(left()).toEqual(['web', 'new']);
    expect(api.clusters.get('web')?.spec).toMatchObject({ region: 'fsn1' });
  });

  it.each<[what: string, change: () => void]>([
    ['a cluster was changed', () => api.clusters.set('web', { ...aCluster({ region: 'hel1' }), generation: 2 })],
    ['a cluster was created', () => api.clusters.set('new', aCluster())],
    ['a cluster that it deletes was changed', () => api.clusters.set('old', { ...aCluster(), generation: 2 })],
    ['a cluster that it deletes was deleted', () => api.clusters.delete('old')],
    ['a change does something else', () => api.clusters.set('web', aCluster({ region: 'nbg1' }))],
  ])('is refused as a whole after %s', async (_what, change) => {
    const plan = await save();
    change();

    expect(await corral(['apply', plan])).toMatchObject({
      code: 5,
      err: expect.stringContaining('is not as it was when the plan was made. Make a new plan.'),
    });
    expect(api.sent).toEqual([]);
  });

  it('is for its team only, and is a file of this command', async () => {
    const plan = await save();
    const other = folder.file('other.json');
    await writeFile(other, (await readFile(plan, 'utf8')).replace('"acme"', '"globex"'));

    expect(await corral(['apply', other])).toMatchObject({
      code: 2,
      err: expect.stringContaining('a plan for globex'),
    });
    expect(await corral(['apply', folder.file('clusters.yaml')])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is no plan'),
    });
    expect(await corral(['apply', plan, '-f', plan])).toMatchObject({ code: 2 });
    expect(api.sent).toEqual([]);
  });
});

it('protection from deletion is set and lifted, and leaves the rest of the cluster as it is', async () => {
  expect(await corral(['protect', 'web'])).toMatchObject({ code: 0, out: 'web protected, operation o1\n' });
  expect(api.clusters.get('web')?.spec).toEqual({ ...aCluster({ region: 'hel1' }).spec, deletionProtection: true });
  expect(await corral(['protect', 'web'])).toMatchObject({ code: 0, out: 'web unchanged\n' });
  expect(await corral(['delete', 'web', '--yes'])).toMatchObject({
    code: 5,
    err: expect.stringContaining('deletion_protected'),
  });
  expect(await corral(['unprotect', 'web'])).toMatchObject({ code: 0, out: 'web unprotected, operation o1\n' });
  expect((await corral(['delete', 'web', '--yes'])).code).toBe(0);
});
