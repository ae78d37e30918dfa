import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { listPackages } from './packages.js';

const root = join(import.meta.dirname, '..', '..', '..');

interface Task {
  readonly dependsOn?: readonly string[];
  readonly outputs?: readonly string[];
}

const readJson = async <T>(path: string): Promise<T> => JSON.parse(await readFile(join(root, path), 'utf8')) as T;

/** The folders that a task of a package writes to, such as `dist`. */
const foldersOf = ({ outputs = [] }: Task): string[] =>
  outputs.filter((glob) => !glob.startsWith('!')).map((glob) => glob.replace(/\/\*\*?.*$/, ''));

describe('the tasks of turbo', () => {
  it('keep no file that another task of the package writes at the same time', async () => {
    const { tasks } = await readJson<{ tasks: Record<string, Task> }>('turbo.json');
    const clashes: string[] = [];
    let compared = 0;
    for (const { name, folder } of await listPackages(root)) {
      const { scripts = {} } = await readJson<{ scripts?: Record<string, string> }>(`${folder}/package.json`);
      const taskOf = (task: string): Task => tasks[`${name}#${task}`] ?? tasks[task] ?? {};
      const own = Object.keys(scripts).filter((script) => script in tasks);
      for (const [at, one] of own.entries()) {
        for (const other of own.slice(at + 1)) {
          if (taskOf(one).dependsOn?.includes(other) || taskOf(other).dependsOn?.includes(one)) continue;
          compared += 1;
          const shared = foldersOf(taskOf(one)).filter((each) => foldersOf(taskOf(other)).includes(each));
          if (shared.length > 0) clashes.push(`${name}: ${one} and ${other} both keep ${shared.join(', ')}`);
        }
      }
    }
    expect(clashes).toEqual([]);
    expect(compared).toBeGreaterThan(0);
  });
});
