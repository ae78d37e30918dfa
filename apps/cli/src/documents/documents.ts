import { apiVersion, isClusterName, isObject, type JsonObject } from '@corral/contracts';
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { usageError } from '../exit-codes.js';
import { readTexts } from './files.js';
import { type TextSchema, textSchema, unquotedTexts } from './unquoted-texts.js';

/** Something that a file declares. */
export interface Declared {
  readonly name: string;
  /** Its place, such as `clusters.yaml, document 2`. */
  readonly source: string;
}

/** A document that declares nothing, with a sentence that says why. */
export interface BadDocument {
  readonly source: string;
  readonly problem: string;
}

/** What is known of a document when its own part is read. */
export interface DocumentBody {
  /** Empty for a kind without names. */
  readonly name: string;
  readonly spec: JsonObject;
  /** The whole document. */
  readonly body: JsonObject;
  readonly source: string;
  /** Says what is wrong. @param problem without its full stop */
  readonly bad: (problem: string) => BadDocument;
}

export interface DocumentKind<T> {
  /** The kind with its article, such as `a cluster`. */
  readonly called: string;
  readonly members: readonly string[];
  /** Members of `metadata`. With `name`, a document needs one. */
  readonly metadata: readonly string[];
  readonly spec: TextSchema;
  readonly read: (document: DocumentBody) => (T | BadDocument)[];
}

/** The kinds of which documents can be, by what `kind` says. */
export type DocumentKinds<T> = Readonly<Record<string, DocumentKind<T>>>;

interface Reading<T> {
  readonly kinds: DocumentKinds<T>;
  readonly team: string;
}

const ALIASES_MAX = 1_000;
const STRANGERS_SHOWN = 5;

/**
 * Reads what files declare, in YAML or JSON, several in one file or in a list.
 *
 * @param paths as for `readTexts`
 * @param titleOf what is declared only once, such as `Cluster web`
 * @param nothing says that the files declare nothing, such as `there is no cluster in it`
 * @param most how many there may be, and what they are
 * @throws CliError that names the file and what is wrong, if it cannot be read or something is declared twice
 */
export async function readDeclared<T extends Declared>(
  paths: readonly string[],
  readInput: () => Promise<Uint8Array>,
  {
    titleOf,
    nothing,
    most: [max, what],
    ...reading
  }: Reading<T> & {
    readonly titleOf: (declared: T) => string;
    readonly nothing: string;
    readonly most: readonly [number, string];
  },
): Promise<(T | BadDocument)[]> {
  const texts = await readTexts(paths, readInput);
  const documents = texts.flatMap(({ text, source }) => parseDeclared(text, source, reading));
  const seen = new Map<string, string>();
  for (const document of documents) {
    if ('problem' in document) continue;
    const title = titleOf(document);
    const before = seen.get(title);
    if (before !== undefined) throw usageError(`${title} is in ${before} and in ${document.source}.`);
    seen.set(title, document.source);
  }
  if (documents.length === 0) throw usageError(`${paths.join(', ')}: ${nothing}.`);
  if (documents.length > max) throw usageError(`More than ${max} ${what} are too many at once.`);
  return documents;
}

export function parseDeclared<T>(text: string, source: string, { kinds, team }: Reading<T>): (T | BadDocument)[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { prettyErrors: true, merge: true, lineCounter: lines });
  const documents = 'empty' in parsed ? [] : parsed;
  return documents.flatMap((document, at) => {
    const where = documents.length === 1 ? source : `${source}, document ${at + 1}`;
    const place: Place<T> = { where, file: source, team, kinds, document, lines };
    // A tag that nobody resolves is a warning, and would be dropped.
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) return [badOf(place, (error.message.split('\n')[0] as string).replace(/:$/, ''))];
    let body: unknown;
    try {
      body = document.toJS({ maxAliasCount: ALIASES_MAX });
    } catch (thrown) {
      // An alias without an anchor, or so many that it has no end.
      return [badOf(place, (thrown as Error).message)];
    }
    if (body === null || body === undefined) return [];
    const flaw = flawInJson(body);
    return flaw === null ? membersOf(body, place) : [badOf(place, flaw)];
  });
}

interface Place<T> extends Reading<T> {
  readonly where: string;
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** One, or those of a list: `kind: List` as kubectl knows it, or what `clusters list -o yaml` prints. */
function membersOf<T>(body: unknown, place: Place<T>): (T | BadDocument)[] {
  const list = listIn(body);
  if (list === null) return memberOf(body, [], place);
  const { items, path } = list;
  const { metadata } = body as { readonly metadata?: unknown };
  const unknown =
    path.length === 0
      ? []
      : [
          ...strangersIn(body as object, ['apiVersion', 'kind', 'metadata', 'items']),
          // kubectl writes them.
          ...strangersIn(isObject(metadata) ? metadata : {}, ['resourceVersion', 'selfLink'], 'metadata.'),
        ];
  if (unknown.length > 0) return [badOf(place, strangerText(unknown, 'a list'))];
  return items.flatMap((item, at) =>
    memberOf(item, [...path, at], { ...place, where: `${place.where}, item ${at + 1}` }),
  );
}

function listIn(body: unknown): { readonly items: readonly unknown[]; readonly path: readonly string[] } | null {
  if (Array.isArray(body)) return { items: body, path: [] };
  if (!isObject(body) || body.kind !== 'List' || !Array.isArray(body.items)) return null;
  return { items: body.items, path: ['items'] };
}

/** @param path in the document */
function memberOf<T>(body: unknown, path: readonly (string | number)[], place: Place<T>): (T | BadDocument)[] {
  const bad = (what: string) => badOf(place, what);
  if (!isObject(body)) return [bad('it has to be an object with apiVersion, kind, metadata and spec')];
  const { apiVersion: version, kind: kindName, spec } = body;
  const kinds = Object.keys(place.kinds);
  const kind = kinds.includes(String(kindName)) ? place.kinds[String(kindName)] : undefined;
  if (kind === undefined)
    return [bad(`kind has to be ${kinds.join(' or ')}${typeof kindName === 'string' ? `, and is ${kindName}` : ''}`)];
  if (version !== apiVersion) return [bad(`apiVersion has to be ${apiVersion}`)];
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const unknown = [...strangersIn(body, kind.members), ...strangersIn(metadata, kind.metadata, 'metadata.')];
  if (unknown.length > 0) return [bad(strangerText(unknown, kind.called))];
  const schema = { properties: { metadata: metadataTexts, spec: kind.spec } };
  const [unquoted] = unquotedTexts(body, schema, { ...place, path });
  if (unquoted !== undefined) {
    const { line, name, text } = unquoted;
    const where = line === null ? place.where : `${place.file}:${line}`;
    return [badOf({ where }, `${name} has to be text. Quote it${text === null ? '' : `: "${text}"`}`)];
  }
  const { name, team } = metadata;
  const isNamed = kind.metadata.includes('name');
  if (isNamed && (typeof name !== 'string' || !isClusterName(name)))
    return [bad(`metadata.name has to be the name of ${kind.called}`)];
  // A document that was read from another team would be declared for this one.
  if (team !== undefined && team !== place.team)
    return [bad(`metadata.team is ${String(team)}, and you act for ${place.team}`)];
  if (!isObject(spec)) return [bad('spec has to be an object')];
  return kind.read({ name: isNamed ? String(name) : '', spec, body, source: place.where, bad });
}

const metadataTexts = { properties: { name: textSchema, team: textSchema } };

const badOf = ({ where }: { readonly where: string }, problem: string): BadDocument => ({
  source: where,
  problem: `${where}: ${problem}.`,
});

/** Members that mean nothing, but for those that begin with `x-`: they contain what merge keys refer to. */
export const strangersIn = (value: object, known: readonly string[], prefix = ''): string[] =>
  Object.keys(value)
    .filter((name) => !known.includes(name) && !(prefix === '' && name.startsWith('x-')))
    .map((name) => prefix + name);

export const strangerText = (names: readonly string[], what: string): string =>
  `${what} has no ${names.slice(0, STRANGERS_SHOWN).join(', ')}. Remove what has no meaning here`;

/** Why JSON cannot have it: instead of such a number it would have null, which takes a default. */
function flawInJson(body: unknown): string | null {
  let hasOddNumber = false;
  try {
    JSON.stringify(body, (_name, value: unknown) => {
      hasOddNumber ||= typeof value === 'number' && !Number.isFinite(value);
      return value;
    });
  } catch {
    return 'it contains itself';
  }
  return hasOddNumber ? 'it has a number that is infinite or none' : null;
}
