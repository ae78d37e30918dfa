import { clusterOpenApi } from '@corral/contracts';

/* What the Terraform provider knows about the cluster API: attributes of its resources, made from the OpenAPI document. */

/** How to write the file anew. */
export const HOW = 'CORRAL_WRITE_DOCS=1 npm test -- tests terraform-models';
export const MODELS_FILE = 'clients/terraform-provider-corral/internal/provider/models.json';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly description?: string;
  readonly uniqueItems?: boolean;
  readonly writeOnly?: boolean;
}

type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'list' | 'set' | 'map';

/** An attribute. What is absent is empty or false. */
interface Model {
  /** The name in Terraform. */
  readonly name?: string;
  /** The name in the API. */
  readonly wire?: string;
  readonly kind: Kind;
  readonly description?: string | undefined;
  readonly required?: boolean;
  /** A change replaces the resource. */
  readonly fixed?: boolean;
  /** Read by nobody: the API does not answer it, and Terraform does not store it. */
  readonly writeOnly?: boolean;
  readonly default?: unknown;
  readonly members?: readonly Model[];
  readonly element?: Model;
  /** The values of this map may be numbers and booleans as well, which are texts in Terraform. */
  readonly loose?: boolean;
}

/** A resource or data source: the schemas of its parts, and what the document says only in words. */
interface Part {
  readonly schema: string;
  readonly only?: readonly string[];
  readonly without?: readonly string[];
  readonly required?: readonly string[];
  readonly fixed?: readonly string[] | 'all';
  /** Terraform has words of its own that no attribute may have. */
  readonly renamed?: Readonly<Record<string, string>>;
}

const parts: Readonly<Record<string, Part>> = {
  clusterSpec: {
    schema: 'ClusterSpecInput',
    required: ['connectionRef', 'region'],
    fixed: ['connectionRef', 'region'],
  },
  clusterStatus: { schema: 'ClusterStatus', only: ['phase', 'kubernetes', 'apiServer', 'cost', 'lastOperation'] },
  connectionSpec: {
    schema: 'ConnectionSpecInput',
    without: ['providerConfig'],
    fixed: ['provider'],
    renamed: { provider: 'cloud_provider' },
  },
  connectionStatus: { schema: 'ConnectionStatus' },
  serviceAccountSpec: { schema: 'ServiceAccountSpecInput' },
  trustedIssuerSpec: { schema: 'TrustedIssuerSpecInput' },
  adoptedServerSpec: { schema: 'AdoptedServerSpecInput', fixed: 'all' },
  adoptedServerStatus: { schema: 'AdoptedServerStatus', without: ['operationId', 'observedAt'] },
  invitationSpec: { schema: 'NewInvitation', only: ['email', 'role'], fixed: 'all' },
  invitationStatus: { schema: 'SentInvitation', only: ['invited_by', 'created_at', 'expires_at'] },
  memberSpec: { schema: 'MemberChange', only: ['role'] },
  memberStatus: { schema: 'TeamMember', only: ['user_id', 'display_name'] },
  catalogue: { schema: 'Catalogue' },
  operation: { schema: 'Operation', without: ['self', 'desiredHash'] },
};

/** The file with all of it. */
export function modelsText(): string {
  const { components } = clusterOpenApi('https://clusters.example.org') as {
    components: { schemas: Readonly<Record<string, Schema>> };
  };
  const models = Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, membersOf(components.schemas, part)]),
  );
  const generated = `Generated from the OpenAPI document of the cluster API by: ${HOW}`;
  return `${JSON.stringify({ generated, models }, null, 2)}\n`;
}

function membersOf(all: Readonly<Record<string, Schema>>, { schema, only, without = [], ...part }: Part): Model[] {
  const { properties = {}, required = [] } = all[schema] as Schema;
  return Object.keys(properties)
    .filter((wire) => !without.includes(wire) && (only?.includes(wire) ?? true))
    .map((wire) => {
      const isFixed = part.fixed === 'all' || (part.fixed?.includes(wire) ?? false);
      const isRequired = required.includes(wire) || (part.required?.includes(wire) ?? false);
      const model = memberOf(all, wire, properties[wire] as Schema, { isRequired, isFixed });
      return { ...model, name: part.renamed?.[wire] ?? (model.name as string) };
    });
}

function memberOf(
  all: Readonly<Record<string, Schema>>,
  wire: string,
  schema: Schema,
  { isRequired, isFixed }: { readonly isRequired: boolean; readonly isFixed: boolean },
): Model {
  return {
    name: attributeName(wire),
    wire,
    ...(isRequired && { required: true }),
    ...(isFixed && { fixed: true }),
    ...modelOf(all, schema),
  };
}

function modelOf(all: Readonly<Record<string, Schema>>, given: Schema): Model {
  const schema = resolved(all, given);
  const { description, default: initial, writeOnly, enum: values } = schema;
  const isListed = description?.startsWith('- ') ?? false;
  const words = [
    isListed && 'One of these:\n\n',
    description,
    values && !isListed && `One of ${values.map((value) => `\`${value}\``).join(', ')}.`,
  ];
  const text = words
    .filter((each) => each)
    .join(' ')
    .replace('\n ', '\n');
  const about = {
    ...(text !== '' && { description: text }),
    ...(initial !== undefined && { default: initial }),
    ...(writeOnly && { writeOnly }),
  };
  const kind = kindOf(schema);
  switch (kind) {
    case 'list':
    case 'set':
      return { kind, ...about, element: modelOf(all, schema.items as Schema) };
    case 'object': {
      const { properties = {}, required = [] } = schema;
      const members = Object.entries(properties).map(([wire, member]) =>
        memberOf(all, wire, member, { isRequired: required.includes(wire), isFixed: false }),
      );
      return { kind, ...about, members };
    }
    case 'map': {
      const { additionalProperties: value } = schema;
      const isLoose = typeof value === 'object' && Array.isArray(value.type);
      return { kind, ...about, ...(isLoose && { loose: true }) };
    }
    default:
      return { kind, ...about };
  }
}

/** Follows references, and leaves out null: every attribute of Terraform can be that. */
function resolved(all: Readonly<Record<string, Schema>>, schema: Schema): Schema {
  const { $ref, anyOf, ...own } = schema;
  if ($ref !== undefined) {
    const { description } = own;
    const target = resolved(all, all[$ref.split('/').at(-1) as string] as Schema);
    return description === undefined ? target : { ...target, description };
  }
  const other = anyOf?.find(({ type }) => type !== 'null');
  return other === undefined ? schema : { ...resolved(all, other), ...own };
}

function kindOf({ type, enum: values, properties, additionalProperties, uniqueItems }: Schema): Kind {
  const types = [type].flat().filter((each) => each !== 'null' && each !== undefined);
  const kind = types[0] ?? (values === undefined ? 'object' : 'string');
  if (kind === 'array') return uniqueItems ? 'set' : 'list';
  const hasAnyName = typeof additionalProperties === 'object' || additionalProperties === true;
  if (kind === 'object' && (properties === undefined || hasAnyName)) return 'map';
  return kind as Kind;
}

/** `controlPlaneHA` is `control_plane_ha`. */
export const attributeName = (wire: string): string =>
  wire
    .replace('GiB', 'Gib')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
