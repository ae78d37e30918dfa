import { cutText } from '@corral/contracts';

/** Bounds of a JSON text. */
export interface JsonBounds {
  /** Nesting depth. */
  readonly depth: number;
  /** Members of objects and elements of arrays, counted over the whole text. */
  readonly entries: number;
}

/** Why a text is refused. */
export type JsonFault =
  | { readonly kind: 'too_deep' | 'too_many' }
  /** A member that JSON parsers could read differently. */
  | { readonly kind: 'ambiguous'; readonly member: string };

/**
 * Whether parsers could take a member for another one.
 *
 * @param top the member of the outermost object that contains it; null for a member of the outermost object
 */
export type IsRespelled = (member: string, top: string | null) => boolean;

interface Open {
  /** The names so far; null for an array. */
  readonly names: Set<string> | null;
}

/** Maximum length of a name in a message. */
const NAME_CHARACTERS = 64;
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks a JSON text in one pass before it is parsed: its depth, its size, and whether a member is repeated. Stops at the first
 * fault. Invalid JSON may pass: the parser reports it.
 *
 * @returns null without a fault
 */
export function findJsonFault(
  text: string,
  bounds: JsonBounds,
  isRespelled: IsRespelled = () => false,
): JsonFault | null {
  const open: Open[] = [];
  let top: string | null = null;
  let expectsName = false;
  // The outermost value is not counted.
  let entries = -1;

  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === COLON) continue;
    const inside = open[open.length - 1];
    if (code === COMMA) {
      expectsName = inside?.names != null;
      continue;
    }
    if (code === ARRAY_END || code === OBJECT_END) {
      open.pop();
      expectsName = false;
      continue;
    }
    if (code === QUOTE && expectsName && inside?.names != null) {
      const end = endOfString(text, at);
      const name = decoded(text.slice(at, end + 1));
      if (inside.names.has(name) || isRespelled(name, open.length === 1 ? null : top)) {
        return { kind: 'ambiguous', member: cutText(name, NAME_CHARACTERS) };
      }
      inside.names.add(name);
      if (open.length === 1) top = name;
      expectsName = false;
      at = end;
      continue;
    }
    entries += 1;
    if (entries > bounds.entries) return { kind: 'too_many' };
    if (code === OBJECT || code === ARRAY) {
      if (open.length === bounds.depth) return { kind: 'too_deep' };
      open.push({ names: code === OBJECT ? new Set() : null });
      expectsName = code === OBJECT;
    } else at = code === QUOTE ? endOfString(text, at) : endOfLiteral(text, at);
  }
  return null;
}

/** @returns the index of the closing quote, or the end of a text without one */
function endOfString(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let escapes = 0;
    while (text.charCodeAt(quote - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/** @returns the index of the last character of a number or word */
function endOfLiteral(text: string, start: number): number {
  let end = start;
  for (; end + 1 < text.length; end += 1) {
    const code = text.charCodeAt(end + 1);
    if (code <= 0x20 || code === COMMA || code === COLON || code === QUOTE) break;
    if (code === ARRAY || code === ARRAY_END || code === OBJECT || code === OBJECT_END) break;
  }
  return end;
}

function decoded(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return JSON.parse(literal) as string;
  } catch {
    return literal;
  }
}
