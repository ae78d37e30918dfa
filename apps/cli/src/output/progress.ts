import { MultiBar, type SingleBar } from 'cli-progress';
import type { CliIo } from '../io.js';
import { printable } from './table.js';

interface Step {
  /** Percent, from 0 to 100. */
  readonly percent: number;
  /** A few words, such as the phase. */
  readonly text: string;
}

/** What several things are at: bars on a terminal, and elsewhere one line for each change of the text. */
export interface Progress {
  readonly show: (name: string, step: Step) => void;
  readonly end: () => void;
}

/** @param names of all things, so that the bars are aligned */
export function startProgress({ err, env, isQuiet = false }: CliIo, names: readonly string[]): Progress {
  if (isQuiet) return { show: () => undefined, end: () => undefined };
  return err.isTTY === true && env.TERM !== 'dumb' ? bars(err, names) : lines(err);
}

function lines(err: CliIo['err']): Progress {
  const shown = new Map<string, string>();
  return {
    show(name, { text }) {
      if (shown.get(name) === text) return;
      shown.set(name, text);
      err.write(`${name}: ${printable(text)}\n`);
    },
    end: () => undefined,
  };
}

function bars(err: CliIo['err'], names: readonly string[]): Progress {
  const width = Math.max(0, ...names.map((name) => name.length));
  const multi = new MultiBar({
    stream: err as NodeJS.WriteStream,
    format: '{name} {bar} {percentage} %  {text}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    linewrap: false,
    emptyOnZero: true,
    autopadding: true,
  });
  const known = new Map<string, SingleBar>();
  return {
    show(name, { percent, text }) {
      const shown = { name: name.padEnd(width), text: printable(text) };
      const bar = known.get(name) ?? multi.create(100, 0, shown);
      known.set(name, bar);
      bar.update(percent, shown);
    },
    end() {
      multi.update();
      multi.stop();
    },
  };
}
