import { parse } from 'yaml';

/** Data that a machine needs to join a Shoot as a node. */
export interface JoinData {
  /** Also the name of the node. */
  readonly hostname: string;
  /** Address of the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** `id.secret` */
  readonly bootstrapToken: string;
  readonly secretName: string;
}

/** Gardener's node agent reads its initial configuration here (`pkg/apis/config/nodeagent/v1alpha1`). */
const HOME = '/var/lib/gardener-node-agent';

const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString();

/** Reads a cloud-config that makes a machine join: it writes the node agent's files and runs a command. @returns null for any other */
export function readJoinData(userData: string | null): JoinData | null {
  if (!userData?.startsWith('#cloud-config')) return null;
  const { hostname = '', write_files: written = [], runcmd = [] } = parse(userData) ?? {};
  // Without a command, nothing starts the agent.
  if (runcmd.length === 0) return null;
  const contents = (written as { path: string; content: string; encoding?: string }[]).map(
    ({ path, content, encoding }) => [path, encoding === undefined ? content : decoded(content)] as const,
  );
  return joinDataIn(hostname, new Map(contents));
}

/** Reads a shell command that makes a machine join: it writes the same files and starts a unit. @returns null for any other */
export function readJoinCommand(command: string): JoinData | null {
  const [, , body = ''] = /^bash -s <<'([A-Z-]+)'\n\{\n([\s\S]*)\n\}\n\1\n$/.exec(command) ?? [];
  if (!/^systemctl enable --now .*gardener-node-init\.service$/m.test(body)) return null;
  const written = body.matchAll(/^put \d+ (\S+) <<'([A-Z-]+)'\n([A-Za-z0-9+/=\n]*)\n\2$/gm);
  const hostname = /^hostnamectl set-hostname (\S+)$/m.exec(body)?.[1] ?? '';
  return joinDataIn(hostname, new Map([...written].map(([, path = '', , base64 = '']) => [path, decoded(base64)])));
}

/** @param files what is written, by path */
function joinDataIn(hostname: string, files: ReadonlyMap<string, string>): JoinData | null {
  const agent = parse(files.get(`${HOME}/config.yaml`) ?? '');
  const bootstrapToken = files.get(`${HOME}/credentials/bootstrap-token`)?.trim();
  if (agent?.kind !== 'NodeAgentConfiguration' || bootstrapToken === undefined) return null;
  const { server, caBundle } = agent.apiServer;
  const { secretName } = agent.controllers.operatingSystemConfig;
  return { hostname, server, certificateAuthority: decoded(caBundle), bootstrapToken, secretName };
}
