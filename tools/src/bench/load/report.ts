import type { ReadResult } from './load.js';

export const say = (line: string): void => console.log(line);

export function row(what: string, { perSecond, p50Ms, p99Ms }: ReadResult, ratio?: number): string[] {
  return [what, perSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2), ratio === undefined ? '' : ratio.toFixed(2)];
}

/** A table whose columns are as wide as their widest cell, with numbers on the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => (cells[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line), ''].join('\n');
}
