import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { builtFile } from '../../support/system/program.js';

describe.each([
  { command: 'corral', file: 'apps/cli/dist/main.js', words: ['dns', 'exp'], completed: 'export' },
  { command: 'corral-admin', file: 'apps/admin/dist/main.js', words: ['team', 'hand'], completed: 'hand-over' },
])('the completion of $command', ({ command, file, words, completed }) => {
  const run = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [builtFile(file), ...args], { encoding: 'utf8' });
    return { out: stdout, err: stderr, code: status };
  };

  it('offers the command that the words begin', () => {
    expect(run('complete', '--', ...words)).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(new RegExp(`^${completed}\t.*\n:\\d+\n$`)),
    });
  });

  it.each(['bash', 'zsh', 'fish'])('has a script for %s, which asks the program', (shell) => {
    expect(run('completion', shell)).toEqual({ code: 0, err: '', out: expect.stringContaining(`${command} complete`) });
  });
});
