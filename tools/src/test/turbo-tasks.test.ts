import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..', '..');

interface Task {
  readonly taskId: string;
  readonly package: string;
  readonly command: string;
  /** IDs of the tasks that end before it begins. */
  readonly dependencies: readonly string[];
  readonly resolvedTaskDefinition: { readonly outputs: readonly string[] };
}

/** The tasks of all packages, as turbo understands its files. Nothing runs. */
function readTasks(): Task[] {
  const turbo = join(root, 'node_modules', '.bin', 'turbo');
  const text = execFileSync(turbo, ['run', 'build', 'bundle', 'compress', '--dry=json'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { tasks } = JSON.parse(text) as { tasks: Task[] };
  return tasks.filter(({ command }) => command !== '<NONEXISTENT>');
}

/** The folders that a task writes to, such as `dist`. */
const foldersOf = ({ resolvedTaskDefinition: { outputs } }: Task): string[] =>
  outputs.filter((glob) => !glob.startsWith('!')).map((glob) => glob.replace(/\/\*\*?.*$/, ''));

const isOrdered = (one: Task, other: Task): boolean =>
  one.dependencies.includes(other.taskId) || other.dependencies.includes(one.taskId);

describe('the tasks of turbo', () => {
  it('keep no file that another task of the package writes at the same time', () => {
    const tasks = readTasks();
    const pairs = tasks.flatMap((one, at) =>
      tasks
        .slice(at + 1)
        .filter((other) => other.package === one.package && !isOrdered(one, other))
        .map((other) => [one, other] as const),
    );
    expect(pairs.length).toBeGreaterThan(0);
    const clashes = pairs.flatMap(([one, other]) =>
      foldersOf(one)
        .filter((folder) => foldersOf(other).includes(folder))
        .map((folder) => `${one.taskId} and ${other.taskId} both keep ${folder}`),
    );
    expect(clashes).toEqual([]);
  });
});
