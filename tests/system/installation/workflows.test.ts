import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeNeeding, unlessInstalled } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const missing = unlessInstalled(['actionlint', '-version'], {
  what: 'actionlint',
  how: 'go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7',
});

describeNeeding(describe, missing, 'the workflows of the forge', () => {
  it('are accepted by actionlint', () => {
    const { status, stdout } = spawnSync('actionlint', ['-no-color'], { cwd: repository, encoding: 'utf8' });

    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });
});
