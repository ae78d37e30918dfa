import { createHash } from 'node:crypto';
import { type AnswerHeaders, parseJsonObject } from '@corral/wire';
import { type BodyReader, type Call, type CallDeps, performReading } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, textIn } from '../calls/json.js';
import type { ShootPage } from '../client.js';
import { type PageRequest, pageCall, parseListHead, readPage } from './list-shoots.js';
import { type PageBytes, textOf } from './page-bytes.js';

/** One state of one Shoot. A later Shoot of the same name has another uid. */
export interface ShootVersion {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Names a Shoot among all. */
export const keyOf = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;

/** A page of an earlier list, by the digest of its elements. */
export type VersionPages = Map<string, ShootVersion[]>;

/**
 * A server that can send only the metadata of objects does so, and others send whole objects
 * (kubernetes.io/docs/reference/using-api/api-concepts, "Metadata-only fetches").
 */
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';

/** The pages of the last list and of this one, and the bytes of the page that is arriving. */
export interface PageMemory {
  readonly last: VersionPages;
  readonly read: VersionPages;
  readonly bytes: PageBytes;
}

/**
 * Lists which version each Shoot has. A page with the elements of an earlier page is not parsed, which takes most of the
 * time: mostly nothing has changed.
 */
export function listVersions(
  deps: CallDeps,
  list: PageRequest,
  memory: PageMemory,
  signal: AbortSignal,
): Promise<ShootPage<ShootVersion>> {
  const call: Call = { ...pageCall(list), accept: metadataOnly, acceptsGzip: true };
  const read = (headers: AnswerHeaders) =>
    keepPage(call, memory, (body) => textOf(call, headers, body, deps.bodyBytesMax));
  return performReading(deps, call, read, signal);
}

function keepPage(
  call: Call,
  { last, read, bytes }: PageMemory,
  decompress: (body: Buffer) => Buffer,
): BodyReader<ShootPage<ShootVersion>> {
  bytes.clear();
  return {
    take: bytes.add,
    end() {
      const body = decompress(bytes.all());
      const parts = divide(body);
      const known = parts && last.get(parts.digest);
      if (known) {
        read.set(parts.digest, known);
        return { shoots: known, ...parseListHead(call, parts.head) };
      }
      const reader = readPage(call, (text) => parseVersion(call, text));
      reader.take(body);
      const page = reader.end();
      if (parts !== null) read.set(parts.digest, page.shoots);
      return page;
    },
  };
}

const itemsStart = '"items":[';

/**
 * Divides a list before its first element. No text in the JSON can look like the start of the elements, because quotes in
 * texts are escaped, and no other list comes before it.
 *
 * @returns the head as a list without elements, and the digest of all that follows; null for another order of members
 */
function divide(body: Buffer): { head: Buffer; digest: string } | null {
  const at = body.indexOf(itemsStart);
  if (at === -1) return null;
  const from = at + itemsStart.length;
  const head = Buffer.concat([body.subarray(0, from), Buffer.from(']}')]);
  if (textIn(objectIn(parseJsonObject(head), 'metadata'), 'resourceVersion') === null) return null;
  return { head, digest: createHash('sha256').update(body.subarray(from)).digest('base64') };
}

function parseVersion(call: Call, text: Buffer): ShootVersion {
  const metadata = objectIn(parseJsonObject(text), 'metadata');
  const [namespace, name] = [textIn(metadata, 'namespace'), textIn(metadata, 'name')];
  const [uid, resourceVersion] = [textIn(metadata, 'uid'), textIn(metadata, 'resourceVersion')];
  if (namespace === null || name === null || uid === null || resourceVersion === null) {
    throw unusableError(call, 'an element is no object with metadata');
  }
  return { key: keyOf({ namespace, name }), namespace, name, uid, resourceVersion };
}
