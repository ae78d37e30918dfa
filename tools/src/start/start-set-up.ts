import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SetUpAnswer, SetUpInput, SetUpOutput } from './set-up.js';

export interface SetUp {
  /** @throws Error with the message of the step, or when the program has ended */
  run<S extends keyof SetUpInput>(step: S, input: SetUpInput[S]): Promise<SetUpOutput[S]>;
  stop(): Promise<void>;
}

interface Waiting {
  readonly resolve: (output: never) => void;
  readonly reject: (error: Error) => void;
}

/** Starts the program in `set-up.ts`. What it is told, secrets included, goes through a pipe. */
export function startSetUp(): SetUp {
  const waiting = new Map<number, Waiting>();
  const file = fileURLToPath(new URL('./set-up.js', import.meta.url));
  // Ctrl-C reaches us only: we end it.
  const child = fork(file, { execArgv: [], detached: true });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.on('error', () => undefined); // then it exits as well
  child.on('message', (answer: SetUpAnswer) => {
    const { resolve, reject } = waiting.get(answer.id) as Waiting;
    waiting.delete(answer.id);
    if ('failure' in answer) reject(new Error(answer.failure));
    else resolve(answer.output as never);
  });
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('The set-up ended before it was ready'));
  });
  let sent = 0;
  return {
    run: (step, input) =>
      new Promise((resolve, reject) => {
        sent += 1;
        waiting.set(sent, { resolve, reject });
        child.send({ id: sent, step, input }, (error) => error !== null && reject(error));
      }),
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
