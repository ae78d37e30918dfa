export const say = (line: string): void => console.log(line);

/** A table for a page of the docs, with numbers on the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((cells) => (cells[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (at === 0 ? (cells[at] ?? '').padEnd(width) : (cells[at] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line), ''].join('\n');
}

/** A number with its aim. */
export interface Aim {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
  readonly isMost?: boolean;
}

/** Whether a value meets its aim. Not a number meets none. */
export const isMet = ({ value, bound, isMost = true }: Aim): boolean => (isMost ? value <= bound : value >= bound);

export const verdictOf = (aim: Aim): string => (isMet(aim) ? 'met' : 'MISSED');

export const thousands = (count: number): string => count.toLocaleString('en');
