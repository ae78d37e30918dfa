import { createScanner } from 'jsonc-parser';

/** Deeper than any body of the upstream. What lies deeper could exhaust the stack of a later reader. */
export const nestingMax = 100;

interface Child {
  /** null in an array */
  key: string | null;
  start: number;
  end: number;
}

/**
 * Gives the exact text of a top-level member of a JSON object, or null when the text is no JSON object or has no such
 * member. Of a repeated member it gives the last, as `JSON.parse` does.
 */
export function sliceMember(text: string, key: string): string | null {
  return sliceMembers(text, [key])[0] ?? null;
}

/** The same of several members in their order, for which the text is read once. */
export function sliceMembers(text: string, keys: readonly string[]): (string | null)[] {
  const children = isJson(text) && startsWith(text, '{') ? childrenOf(text) : null;
  return keys.map((key) => {
    const child = children?.findLast((each) => each.key === key);
    return child === undefined ? null : text.slice(child.start, child.end);
  });
}

/**
 * Gives the exact texts of the elements of a top-level array member of a JSON object; none when there is no such
 * array.
 */
export function sliceElements(text: string, key: string): string[] {
  const array = sliceMember(text, key);
  if (array === null || !array.startsWith('[')) return [];
  return (childrenOf(array) ?? []).map((child) => array.slice(child.start, child.end));
}

/** Tells whether valid JSON stays within `nestingMax` levels. */
export function isShallow(text: string): boolean {
  return !hasManyOpenings(text) || childrenOf(text) !== null;
}

/** Whether there are enough opening brackets for more than `nestingMax` levels, which most texts do not have. */
function hasManyOpenings(text: string): boolean {
  let openings = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== OBJECT && code !== ARRAY) continue;
    openings += 1;
    if (openings > nestingMax) return true;
  }
  return false;
}

const [OBJECT, ARRAY] = [0x7b, 0x5b];

/**
 * Finds the values directly inside the object or array that `text`, valid JSON, holds; null when it is nested too
 * deeply. It walks tokens: a syntax tree of the largest body that we accept could take a gigabyte, and building one
 * recurses.
 */
function childrenOf(text: string): Child[] | null {
  const scanner = createScanner(text, true);
  const children: Child[] = [];
  let depth = 0;
  let keyed = false;
  let key: string | null = null;
  let keyExpected = false;
  let start = -1;
  let end = -1;

  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const offset = scanner.getTokenOffset();
    const symbol = text[offset];
    const opens = symbol === '{' || symbol === '[';
    const closes = symbol === '}' || symbol === ']';

    if (depth === 1 && (closes || symbol === ',')) {
      if (start >= 0) children.push({ key, start, end });
      start = -1;
      keyExpected = keyed;
    } else if (depth === 1 && symbol === ':') {
      keyExpected = false;
    } else if (depth === 1 && keyExpected) {
      key = scanner.getTokenValue();
    } else if (depth === 1 && start < 0) {
      start = offset;
    }

    if (depth === 0) {
      keyed = symbol === '{';
      keyExpected = keyed;
    }
    if (opens) depth += 1;
    if (closes) depth -= 1;
    if (depth > nestingMax) return null;
    end = offset + scanner.getTokenLength();
  }
  return children;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function startsWith(text: string, symbol: string): boolean {
  return text.trimStart().startsWith(symbol);
}
