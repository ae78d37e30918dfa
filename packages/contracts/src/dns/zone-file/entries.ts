/** A token of a master file (RFC 1035 section 5.1). */
export interface Token {
  /** The text without the quotes around it. Escapes stay. */
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A logical line. */
export interface Entry {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly isIndented: boolean;
  /** Empty for a line that has only a comment. Of a line that cannot be read: those before what is wrong. */
  readonly tokens: readonly Token[];
  readonly comment: string | null;
  /** Why the line cannot be read. */
  readonly problem: EntryProblem | null;
}

interface EntryProblem {
  readonly line: number;
  readonly message: string;
  /** A parenthesis is open until the end: other records may be inside. */
  readonly isOpen: boolean;
}

const word = /(?:[^\s;()"\\]|\\[^\r\n])+/y;
const quoted = /"((?:[^"\\\r\n]|\\[^\r\n])*)"/y;
const lineEnd = /\r\n|\r|\n/y;
const blanks = /[^\S\r\n]+/y;
const restOfLine = /[^\r\n]*/y;

/** Reads logical lines: parentheses continue them, semicolons begin comments. Takes time linear in the length. */
export function* readEntries(text: string): Generator<Entry> {
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
    let problem: EntryProblem | null = null;
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
        if (token === undefined) {
          problem ??= { line, message: messageOf(character), isOpen: false };
          take(restOfLine);
        } else if (problem === null) tokens.push({ text: token, isQuoted: inQuotes !== null });
      }
    }
    if (open > 0) problem = { line: openedAt, message: 'A parenthesis is not closed.', isOpen: true };
    const comment = comments.filter((each) => each !== '').join(' ');
    yield { line: startsAt, isIndented, tokens, comment: comment === '' ? null : comment, problem };
  }
}

function messageOf(character: string | undefined): string {
  if (character === '\\') return 'A backslash at the end of the line escapes nothing.';
  return character === '"' ? 'A quote is not closed.' : `Unexpected ${character}.`;
}
