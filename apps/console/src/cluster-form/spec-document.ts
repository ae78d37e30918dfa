import type { ClusterSpec } from '@corral/contracts';
import { type Document, isMap, isScalar, LineCounter, parseDocument, stringify } from 'yaml';

/*
 * A cluster as one YAML document, `spec: …`. The form changes single nodes of it, so comments and order survive.
 */

export type SpecDocument =
  | { readonly spec: Readonly<Partial<ClusterSpec>>; readonly problem: null }
  | { readonly spec: null; readonly problem: { readonly line: number; readonly message: string } };

type Path = readonly (string | number)[];

export const textOf = (spec: unknown): string => stringify({ spec });

/** Reads a document; a broken one keeps its text and has a problem. */
export function readDocument(text: string): SpecDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const [error] = document.errors;
  if (error !== undefined) {
    return { spec: null, problem: { line: lines.linePos(error.pos[0]).line, message: `${error.message}.` } };
  }
  if (!isMap(document.get('spec'))) {
    return { spec: null, problem: { line: 1, message: 'The document must have a member “spec” with the fields.' } };
  }
  try {
    const { spec } = document.toJS() as { spec: Partial<ClusterSpec> };
    if (spec.nodePools !== undefined && !isListOfObjects(spec.nodePools)) {
      return {
        spec: null,
        problem: {
          line: lineOf(document, lines, ['spec', 'nodePools']),
          message: '“nodePools” must be a list of pools.',
        },
      };
    }
    return { spec, problem: null };
  } catch (thrown) {
    // The parser throws for texts such as one with too many aliases.
    return { spec: null, problem: { line: 1, message: thrown instanceof Error ? thrown.message : String(thrown) } };
  }
}

const isListOfObjects = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null && !Array.isArray(each));

function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === last) : undefined;
    const node = (pair?.key ?? document.getIn(path.slice(0, length), true)) as
      | { range?: readonly number[] }
      | undefined;
    if (node?.range?.[0] !== undefined) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

/** The line of the field at a JSON pointer, such as `/spec/nodePools/0/minimum`; of what contains it if it is absent. */
export function lineOfPointer(text: string, pointer: string): number {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return lineOf(document, lines, path);
}

/** The text with another value at the path below `spec`; undefined removes the field. The text must be valid. */
export function withField(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  const full = ['spec', ...path];
  if (value === undefined) document.deleteIn(full);
  else if (typeof value === 'object') document.setIn(full, document.createNode(value));
  else document.setIn(full, value);
  return document.toString({ lineWidth: 0 });
}

/** The text with one more pool. */
export function withPool(text: string, pool: unknown): string {
  const { spec } = readDocument(text);
  return withField(
    text,
    ['nodePools', ...(spec?.nodePools === undefined ? [] : [spec.nodePools.length])],
    spec?.nodePools === undefined ? [pool] : pool,
  );
}
