import { notAcceptable } from '../kube/status-error.js';

/** How an answer shows objects: whole, or only their metadata. */
export type Shape = 'whole' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/**
 * Chooses the shape of an answer, like `NegotiateOutputMediaType` (kubernetes: staging/src/k8s.io/apiserver). The first clause
 * that can be served wins, by weight. JSON is the only format here, and only `get` and `list` change the shape.
 *
 * @throws StatusError 406 if no clause can be served
 */
export function shapeFor(accept: string | undefined, verb: string): Shape {
  if (accept === undefined || accept.trim() === '') return 'whole';
  const clauses = accept.split(',').map(parseClause);
  for (const { type, as } of clauses.sort((a, b) => b.weight - a.weight)) {
    if (!['application/json', 'application/*', '*/*'].includes(type)) continue;
    if (as === null) return 'whole';
    if (verb === 'get' || verb === 'list') {
      if (isShape(as)) return checked(as, verb);
    }
  }
  throw notAcceptable('only the following media types are accepted: application/json');
}

interface Clause {
  readonly type: string;
  readonly weight: number;
  /** The kind to convert to; null for none, empty for one of another group or version. */
  readonly as: string | null;
}

function parseClause(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map(rest.map((part) => part.split('=', 2) as [string, string | undefined]));
  const kind = parameters.get('as');
  const isMeta = parameters.get('g') === 'meta.k8s.io' && /^v1(beta1)?$/.test(parameters.get('v') ?? '');
  return { type, weight: Number(parameters.get('q') ?? 1), as: kind === undefined ? null : isMeta ? kind : '' };
}

const isShape = (kind: string): kind is Exclude<Shape, 'whole'> => /^PartialObjectMetadata(List)?$/.test(kind);

function checked(shape: Exclude<Shape, 'whole'>, verb: 'get' | 'list'): Shape {
  const isForList = shape === 'PartialObjectMetadataList';
  if (isForList === (verb === 'list')) return shape;
  throw notAcceptable(`you requested ${shape}, but the requested object is ${isForList ? 'not ' : ''}a list`);
}
