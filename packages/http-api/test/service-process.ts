import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess, waitFor } from '@corral/testing';

const fixture = fileURLToPath(new URL('./fixtures/service.mjs', import.meta.url));

export type Service = RunningProcess & {
  url: string;
  port: number;
  metricsUrl: string;
  /** Every log line so far. */
  lines(): Record<string, unknown>[];
  logged(message: string): Promise<Record<string, unknown>>;
};

/** The fixture as a process of its own, ready to serve. */
export async function startService(env: Record<string, string> = {}): Promise<Service> {
  const running = await startProcess({
    command: process.execPath,
    args: [fixture],
    env: { PORT: '0', API_SECRET: 'long enough to be one', ...env },
    readyLine: '"message":"listening"',
  });
  const lines = () =>
    running
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const logged = (message: string) =>
    waitFor(`the log line "${message}"`, () => lines().find((line) => line.message === message) ?? fail(running));
  const { url, metricsUrl } = (await logged('listening')) as { url: string; metricsUrl: string };
  return { ...running, url, port: Number(new URL(url).port), metricsUrl, lines, logged };
}

function fail(running: RunningProcess): never {
  throw new Error(running.output());
}

/** `closed` says what happened to the connection, once nothing more can. */
export type RawClient = { socket: Socket; text(): string; closed: Promise<'ended' | 'cut'> };

/** A connection on which a test says exactly what it wants to. */
export async function openRaw(port: number, { allowHalfOpen = false } = {}): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined); // a cut connection is what these tests are about
  const closed = new Promise<'ended' | 'cut'>((resolve) => {
    socket.once('close', (hadError) => resolve(hadError ? 'cut' : 'ended'));
  });
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return { socket, text: () => text, closed };
}

/** Runs the fixture until it ends by itself. */
export async function runToEnd(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const running = await startProcess({ command: process.execPath, args: [fixture], env });
  const { code } = await running.exited;
  return { code, output: running.output() };
}
