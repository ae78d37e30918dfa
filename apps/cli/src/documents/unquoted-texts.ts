import { placeOf } from '@corral/contracts';
import { type Document, isScalar, type LineCounter } from 'yaml';

/** A number or a boolean where a text belongs, such as `1.30`, which YAML reads as 1.3. */
export interface UnquotedText {
  /** The path of the text, such as `spec.nodePools[0].machineType`. */
  readonly name: string;
  /** The text as it was written; null for what an alias or a merge key brought, as is the line. */
  readonly text: string | null;
  readonly line: number | null;
}

/** The parts of a schema that say where texts are. */
export interface TextSchema {
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, TextSchema>>;
  readonly additionalProperties?: boolean | TextSchema;
  readonly items?: TextSchema;
}

export const textSchema: TextSchema = { type: 'string' };

interface Place {
  readonly document: Document;
  readonly lines: LineCounter;
  /** Path of the body in the document. */
  readonly path: readonly (string | number)[];
}

/** Finds what YAML did not read as the text that it should be, by the schema. */
export function unquotedTexts(body: unknown, schema: TextSchema, { document, lines, path }: Place): UnquotedText[] {
  return notTexts(body, schema, []).flatMap(({ place, value, mayBe }): UnquotedText[] => {
    const node = document.getIn([...path, ...place], true);
    const { source = null, range = null } = isScalar(node) ? node : {};
    // An option of an image can be a number, if it is the one that was written.
    if (mayBe && (source ?? String(value)) === String(value)) return [];
    const line = range ? lines.linePos(range[0]).line : null;
    return [{ name: placeOf(place.map((part) => `/${part}`).join('')), text: source, line }];
  });
}

interface NotText {
  readonly place: readonly (string | number)[];
  readonly value: number | boolean;
  /** Other types are allowed, too. */
  readonly mayBe: boolean;
}

function notTexts(value: unknown, of: TextSchema | undefined, place: readonly (string | number)[]): NotText[] {
  if (of === undefined || value === null) return [];
  if (typeof value === 'number' || typeof value === 'boolean') {
    const types = [of.type ?? []].flat();
    return types.includes('string') ? [{ place, value, mayBe: types.length > 1 }] : [];
  }
  if (Array.isArray(value)) return value.flatMap((each, at) => notTexts(each, of.items, [...place, at]));
  if (typeof value !== 'object') return [];
  const others = typeof of.additionalProperties === 'object' ? of.additionalProperties : undefined;
  return Object.entries(value).flatMap(([name, each]) =>
    notTexts(each, of.properties?.[name] ?? others, [...place, name]),
  );
}
