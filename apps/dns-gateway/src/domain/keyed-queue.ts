/** Runs work of the same key one after the other, in the order of arrival; work of different keys runs side by side. */
export interface KeyedQueue {
  /**
   * @param waitMs the longest wait for the turn
   * @returns `late` when the turn did not come in time: the work was not begun and never will be
   */
  run<T>(key: string, waitMs: number, work: () => Promise<T>): Promise<{ kind: 'done'; value: T } | { kind: 'late' }>;
}

export function keyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<void>>();

  return {
    async run(key, waitMs, work) {
      const turn = tails.get(key) ?? Promise.resolve();
      let endTurn: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        endTurn = resolve;
      });
      const tail = turn.then(() => ended);
      tails.set(key, tail);
      try {
        if (!(await comesWithin(turn, waitMs))) return { kind: 'late' };
        return { kind: 'done', value: await work() };
      } finally {
        endTurn();
        if (tails.get(key) === tail) void tail.then(() => tails.get(key) === tail && tails.delete(key));
      }
    },
  };
}

async function comesWithin(turn: Promise<void>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  try {
    return await Promise.race([turn.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
