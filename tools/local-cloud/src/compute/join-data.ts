import { parse } from 'yaml';

/** Data that a machine needs to join a Shoot as a node. */
export interface JoinData {
  /** Null: use the server's name. */
  readonly hostname: string | null;
  /** Address of the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** `id.secret` */
  readonly bootstrapToken: string;
  readonly secretName: string;
}

/** Gardener's node agent reads its initial configuration here (`pkg/apis/config/nodeagent/v1alpha1`). */
const CONFIG_PATH = '/var/lib/gardener-node-agent/config.yaml';
const TOKEN_PATH = '/var/lib/gardener-node-agent/credentials/bootstrap-token';

// biome-ignore lint/suspicious/noExplicitAny: user data of every shape is looked into
type Loose = any;

/**
 * Reads a cloud-config that makes a machine join: it writes the node agent's two files and runs a command.
 *
 * @returns null for any other user data, including malformed data
 */
export function readJoinData(userData: string | null): JoinData | null {
  if (userData === null || !userData.startsWith('#cloud-config')) return null;
  const config = parseLoosely(userData);
  const files: Loose[] = Array.isArray(config?.write_files) ? config.write_files : [];
  const contentOf = (path: string): string => textOf(files.findLast((file) => file?.path === path));
  // Without a command, nothing starts the agent.
  if (!Array.isArray(config?.runcmd) || config.runcmd.length === 0) return null;
  const hostname = typeof config.hostname === 'string' && config.hostname !== '' ? config.hostname : null;
  return joinDataIn(contentOf, hostname);
}

/**
 * Reads a shell command that makes a machine join: it writes the same two files and starts the same unit.
 *
 * @returns null for any other command or if a part is missing
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

/** @param contentOf returns the content of a file by path; empty if the file is not written */
function joinDataIn(contentOf: (path: string) => string, hostname: string | null): JoinData | null {
  const agent = parseLoosely(contentOf(CONFIG_PATH));
  const bootstrapToken = contentOf(TOKEN_PATH).trim();
  const server = agent?.apiServer?.server;
  // Agents before Gardener 1.150 read only the bundle, later ones only the file.
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
