import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, isFree } from '@corral/testing';

export interface StateFolder {
  readonly root: string;
  path(...parts: string[]): string;
  read<T>(file: string): T | null;
  /** Mode 0600, as these files contain tokens. Readers see the old file or the new one, never a part of it. */
  write(file: string, value: unknown): void;
}

/** `.corral/`: everything that `npm start` keeps between runs. */
export function stateFolder(root: string): StateFolder {
  mkdirSync(join(root, 'logs'), { recursive: true, mode: 0o700 });
  return {
    root,
    path: (...parts) => join(root, ...parts),
    read(file) {
      try {
        return JSON.parse(readFileSync(join(root, file), 'utf8'));
      } catch {
        return null;
      }
    },
    write(file, value) {
      const target = join(root, file);
      writeFileSync(`${target}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
      renameSync(`${target}.new`, target);
    },
  };
}

const portNames = [
  'dnsGateway',
  'dnsGatewayTls',
  'gatewayMetrics',
  'clusterApi',
  'clusterApiMetrics',
  'reconcilerMetrics',
  'cloudApi',
  'cloudDns',
  'cloudAdmin',
  'cloudSmtp',
  'cloudGarden',
  'cloudShoots',
] as const;
export type Ports = Record<(typeof portNames)[number], number>;

/**
 * Ports for all parts: those that are set, otherwise those of the last run, so that clients configured then still work,
 * otherwise free ones. A part that is restarted gets the same port.
 */
export async function choosePorts(folder: StateFolder, set: Partial<Ports>): Promise<Ports> {
  const last = folder.read<Partial<Ports>>('ports.json') ?? {};
  const ports = {} as Ports;
  for (const name of portNames) {
    const wished = set[name] ?? last[name];
    const keeps = wished !== undefined && (set[name] !== undefined || (await isFree(wished)));
    ports[name] = keeps ? wished : await freePort();
  }
  folder.write('ports.json', ports);
  return ports;
}
