import type { Writable } from 'node:stream';

const BATCH_CHARACTERS_MAX = 65_536;
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;
const FLUSH_MS_MAX = 1_000;

/** Batches to write when the process ends. One listener for all, because a process may create any number of logs. */
const unwritten = new Set<() => void>();
let watchesExit = false;

function writeAtExit(): void {
  if (watchesExit) return;
  watchesExit = true;
  process.once('exit', () => {
    for (const write of unwritten) write();
  });
}

/**
 * Collects the lines of one turn of the event loop into one write.
 *
 * A reader that stalls (a full pipe) must neither block the process nor fill its memory. Beyond a limit, lines are dropped and
 * counted, and a line reports the number when the reader continues.
 */
export class LineBatch {
  #pending = '';
  #dropped = 0;
  readonly #destination: Writable;
  readonly #writeOut = (): void => this.#write();

  /** @param renderDropped renders the line with the number of dropped lines */
  constructor(
    destination: Writable,
    private readonly renderDropped: (lines: number) => string,
  ) {
    this.#destination = destination;
    // A closed reader must not end the service, which Node.js would do without a listener.
    destination.on('error', () => {});
    writeAtExit();
  }

  add(line: string): void {
    if (this.#destination.writableLength > BACKLOG_BYTES_MAX) {
      this.#dropped += 1;
      return;
    }
    if (this.#pending === '') {
      unwritten.add(this.#writeOut);
      setImmediate(this.#writeOut);
    }
    if (this.#dropped > 0) {
      this.#pending += `${this.renderDropped(this.#dropped)}\n`;
      this.#dropped = 0;
    }
    this.#pending += `${line}\n`;
    if (this.#pending.length > BATCH_CHARACTERS_MAX) this.#writeOut();
  }

  #write(): void {
    unwritten.delete(this.#writeOut);
    if (this.#pending === '') return;
    const text = this.#pending;
    this.#pending = '';
    this.#destination.write(text);
  }

  /** Resolves when the destination has taken every line, or after a second. Never rejects. */
  async flush(): Promise<void> {
    this.#writeOut();
    if (this.#destination.writableLength === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, FLUSH_MS_MAX);
      this.#destination.write('', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
