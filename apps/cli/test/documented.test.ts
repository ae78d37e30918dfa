import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { exitCodes } from '../src/exit-codes.js';
import { buildProgram } from '../src/run-cli.js';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const textOf = (path: string) => readFileSync(join(repository, path), 'utf8');

/** Every command of this program in a document, until the end of its line, of its code or of its sentence. */
function documented(): { readonly where: string; readonly line: string }[] {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: repository,
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((path) => path !== '')
    .flatMap((path) =>
      [...textOf(path).matchAll(/(?:\$ |\(|`|run -s )corral (?:-- )?((?!—)[a-z-][^\n`|)]*)/g)].map(([, line = '']) => ({
        where: path,
        line,
      })),
    );
}

/** As a shell splits it, without redirections and comments. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/\s(#|[<>]).*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)]
    .map(([, single, double, plain]) => single ?? double ?? plain ?? '')
    .map((word) => word.replace(/[.,;:]+$/, ''));

describe('the commands in the documentation', () => {
  it('are many', () => {
    expect(documented().length).toBeGreaterThan(25);
  });

  it('are commands of this program, with arguments and options that it knows', async () => {
    const unknown: string[] = [];
    for (const { where, line } of documented()) {
      const errors = new PassThrough();
      const program = buildProgram({ out: new PassThrough(), err: errors }, () => async () => undefined);
      const words = wordsOf(line);
      // A name of a command in a sentence, without its arguments.
      if (words.length <= 2 && !/\$/.test(line)) continue;
      if (words[0] === 'completion') continue;
      await program.parseAsync(words, { from: 'user' }).catch((error: { exitCode: number }) => {
        if (error.exitCode !== 0) unknown.push(`${where}: ${line}: ${String(errors.read())}`);
      });
    }
    expect(unknown).toEqual([]);
  });
});

it('documents every exit code', () => {
  const rows = [...textOf('docs/cli.md').matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning,
  ]);

  expect(rows).toEqual(Object.values(exitCodes).map(({ code, meaning }) => [code, meaning]));
});
