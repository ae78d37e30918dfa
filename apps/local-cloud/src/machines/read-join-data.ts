import { parse } from 'yaml';

/** What a machine was given to become a node of a Shoot. */
export interface JoinData {
  /** Null: the server's own name. */
  readonly hostname: string | null;
  /** Address of the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** `id.secret` */
  readonly bootstrapToken: string;
  readonly secretName: string;
}

/** Where Gardener's node agent finds what it begins with (`pkg/apis/config/nodeagent/v1alpha1`). */
const CONFIG_PATH = '/var/lib/gardener-node-agent/config.yaml';
const TOKEN_PATH = '/var/lib/gardener-node-agent/credentials/bootstrap-token';

// biome-ignore lint/suspicious/noExplicitAny: user data of every shape is looked into
type Loose = any;

/**
 * Reads a cloud-config that makes a machine join: it writes the node agent's two files and runs something.
 *
 * @returns null for user data of any other kind, however broken
 */
export function readJoinData(userData: string | null): JoinData | null {
  if (userData === null || !userData.startsWith('#cloud-config')) return null;
  const config = parseLoosely(userData);
  const files: Loose[] = Array.isArray(config?.write_files) ? config.write_files : [];
  const contentOf = (path: string): string => textOf(files.findLast((file) => file?.path === path));
  // Without a command the agent is only lying there.
  if (!Array.isArray(config?.runcmd) || config.runcmd.length === 0) return null;
  const hostname = typeof config.hostname === 'string' && config.hostname !== '' ? config.hostname : null;
  return joinDataIn(contentOf, hostname);
}

/**
 * Reads a command that makes a machine join, as somebody would paste it into a shell: it writes the same two files and
 * starts the same unit.
 *
 * @returns null for any other command, or one of which a part is missing
 */
export function readJoinCommand(command: string): JoinData | null {
  const body = /^bash -s <<'([A-Z-]+)'\n\{\n([\s\S]*)\n\}\n\1\n$/.exec(command)?.[2];
  if (body === undefined || !/^systemctl enable --now .*gardener-node-init\.service$/m.test(body)) return null;
  const written = body.matchAll(/^put \d+ (\S+) <<'([A-Z-]+)'\n([A-Za-z0-9+/=\n]*)\n\2$/gm);
  const files = new Map(
    [...written].map(([, path, , base64 = '']) => [path, Buffer.from(base64, 'base64').toString()]),
  );
  const hostname = /^hostnamectl set-hostname (\S+)$/m.exec(body)?.[1] ?? null;
  return joinDataIn((path) => files.get(path) ?? '', hostname);
}

/** @param contentOf of a file by its path; empty for one that is not written */
function joinDataIn(contentOf: (path: string) => string, hostname: string | null): JoinData | null {
  const agent = parseLoosely(contentOf(CONFIG_PATH));
  const bootstrapToken = contentOf(TOKEN_PATH).trim();
  const server = agent?.apiServer?.server;
  // Agents before Gardener 1.150 know the bundle only, later ones the file only.
  const { caFile, caBundle } = agent?.apiServer ?? {};
  const bundle =
    typeof caFile === 'string' ? contentOf(caFile) : Buffer.from(String(caBundle ?? ''), 'base64').toString();
  const secretName = agent?.controllers?.operatingSystemConfig?.secretName;
  const texts = [server, bundle, secretName];
  if (agent?.kind !== 'NodeAgentConfiguration' || bootstrapToken === '') return null;
  if (!texts.every((value) => typeof value === 'string' && value !== '')) return null;
  return { hostname, server, certificateAuthority: bundle, bootstrapToken, secretName };
}

function parseLoosely(text: string): Loose {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function textOf(file: Loose): string {
  const content = typeof file?.content === 'string' ? file.content : '';
  const isEncoded = ['b64', 'base64'].includes(file?.encoding);
  return isEncoded ? Buffer.from(content, 'base64').toString('utf8') : content;
}
