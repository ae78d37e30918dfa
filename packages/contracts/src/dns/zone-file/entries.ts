/** A token of a master file (RFC 1035 section 5.1). */
export interface Token {
  /** Without the quotes around it. Escapes are kept. */
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A logical line. */
export interface Entry {
  /** From 1. */
  readonly line: number;
  readonly isIndented: boolean;
  readonly tokens: readonly Token[];
  readonly comment: string | null;
}

export interface EntryListener {
  /** The entry with this line is skipped. */
  problem(line: number, message: string): void;
  /** A comment that belongs to no entry. */
  looseComment(line: number): void;
}

const word = /(?:[^\s;()"\\]|\\[^\r\n])+/y;
const quoted = /"((?:[^"\\\r\n]|\\[^\r\n])*)"/y;
const lineEnd = /\r\n|\r|\n/y;
const blanks = /[^\S\r\n]+/y;
const restOfLine = /[^\r\n]*/y;

/** Reads logical lines: parentheses continue them, semicolons begin comments. Takes time linear in the length. */
export function* readEntries(text: string, found: EntryListener): Generator<Entry> {
  let position = text.startsWith('\uFEFF') ? 1 : 0;
  let line = 1;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match !== null) position = pattern.lastIndex;
    return match;
  };
  while (position < text.length) {
    const startsAt = line;
    const isIndented = take(blanks) !== null;
    const tokens: Token[] = [];
    const comments: string[] = [];
    let open = 0;
    let openedAt = line;
    let isBroken = false;
    while (position < text.length) {
      if (take(lineEnd) !== null) {
        line += 1;
        if (open === 0) break;
        continue;
      }
      if (take(blanks) !== null) continue;
      const character = text[position];
      if (character === ';') comments.push((take(restOfLine)?.[0] ?? '').replace(/^;+/, '').trim());
      else if (character === '(') {
        if (open === 0) openedAt = line;
        open += 1;
        position += 1;
      } else if (character === ')' && open > 0) {
        open -= 1;
        position += 1;
      } else {
        const inQuotes = take(quoted);
        const token = inQuotes?.[1] ?? take(word)?.[0];
        if (token !== undefined) {
          tokens.push({ text: token, isQuoted: inQuotes !== null });
          continue;
        }
        const why = character === '"' ? 'A quote is not closed.' : `Unexpected ${character}.`;
        found.problem(line, character === '\\' ? 'A backslash at the end of the line escapes nothing.' : why);
        isBroken = true;
        take(restOfLine);
      }
    }
    if (open > 0) found.problem(openedAt, 'A parenthesis is not closed.');
    else if (!isBroken && tokens.length > 0) {
      const comment = comments.filter((each) => each !== '').join(' ');
      yield { line: startsAt, isIndented, tokens, comment: comment === '' ? null : comment };
    } else if (!isBroken && comments.some((each) => each !== '')) found.looseComment(startsAt);
  }
}
