import { describe, expect, it } from '@jest/globals';
import { type ProcessSpec, startProcess } from '../src/process/start-process.js';
import { waitFor } from '../src/wait-for.js';

const node = (script: string, rest: Partial<ProcessSpec> = {}): ProcessSpec => ({
  command: process.execPath,
  args: ['-e', script],
  ...rest,
});

const stayAlive = 'setInterval(() => undefined, 1000);';

describe('startProcess', () => {
  it('waits for a line, passes the environment, and collects both streams', async () => {
    const script = `process.on('SIGUSR2', () => console.log('listening')); console.error('name', process.env.HERD); ${stayAlive}`;

    const running = await startProcess(node(script, { env: { HERD: 'acme' }, readyLine: /^name acme$/m }));
    // Two streams have no common order, unless one is written to after the other was read.
    running.kill('SIGUSR2');
    await waitFor('the other stream', () => running.output().includes('listening\n'));

    expect(running.output()).toBe('name acme\nlistening\n');
    await running.stop();
  });

  it('kills a process that ignores SIGTERM, and can be stopped twice', async () => {
    const deaf = `process.on('SIGTERM', () => undefined); console.log('up'); ${stayAlive}`;
    const running = await startProcess(node(deaf, { readyLine: 'up' }));

    await running.stop({ timeoutMs: 50 });

    expect(await running.stop()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('includes the output of a process that ends before it is ready', async () => {
    const starting = startProcess(node("console.log('no DATABASE_URL'); process.exit(3)", { readyLine: 'listening' }));

    await expect(starting).rejects.toThrow('no DATABASE_URL');
  });

  it('ends a process that does not become ready in time', async () => {
    /** The output before the timeout; empty when the machine is slow to start the process. */
    const outputWithin = async (readyTimeoutMs: number): Promise<string> => {
      const pidThenNothing = node(`console.log('pid', process.pid); ${stayAlive}`, { readyLine: 'x', readyTimeoutMs });
      const { message }: Error = await startProcess(pidThenNothing).then(
        () => new Error('It was ready.'),
        (error) => error,
      );
      return message;
    };

    let pid: string | undefined;
    for (let timeoutMs = 300; pid === undefined && timeoutMs < 30_000; timeoutMs *= 4) {
      pid = /^pid (\d+)$/m.exec(await outputWithin(timeoutMs))?.[1];
    }

    expect(Number(pid)).toBeGreaterThan(0);
    expect(isAlive(Number(pid))).toBe(false);
  });

  it('ends its processes when the starting process is killed', async () => {
    const library = new URL('../dist/index.js', import.meta.url).href;
    const starter = `import('${library}').then(async ({ startProcess }) => {
      const { pid } = await startProcess({ command: process.execPath, args: ['-e', '${stayAlive}'] });
      console.log('grandchild ' + pid + '.');
    }); ${stayAlive}`;
    const running = await startProcess(node(starter, { readyLine: /grandchild \d+\./ }));
    const grandchild = Number(/grandchild (\d+)/.exec(running.output())?.[1]);
    expect(isAlive(grandchild)).toBe(true);

    running.kill('SIGKILL');

    await waitFor('the grandchild to end', () => !isAlive(grandchild));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
