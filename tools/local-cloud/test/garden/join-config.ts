import { stringify } from 'yaml';
import { type ShootClient, TOKEN_TEXT } from './shoot-client.js';

export interface JoinConfigChange {
  readonly token?: string;
  readonly secret?: string;
  readonly ca?: string;
  /** Replaces fields of the cloud-config. */
  readonly more?: object;
}

/** The cloud-config of a machine that Gardener creates, with changed parts. */
export function renderJoinConfig(shoot: ShootClient, secretName: string, change: JoinConfigChange): string {
  const agent = {
    apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
    kind: 'NodeAgentConfiguration',
    apiServer: {
      server: shoot.server,
      caBundle: Buffer.from(change.ca ?? shoot.certificateAuthority).toString('base64'),
    },
    controllers: { operatingSystemConfig: { secretName: change.secret ?? secretName, kubernetesVersion: '1.34.3' } },
  };
  const home = '/var/lib/gardener-node-agent';
  return `#cloud-config\n${stringify({
    hostname: 'srv-1',
    write_files: [
      { path: `${home}/credentials/bootstrap-token`, content: change.token ?? TOKEN_TEXT },
      { path: `${home}/config.yaml`, encoding: 'b64', content: Buffer.from(stringify(agent)).toString('base64') },
    ],
    runcmd: [['/var/lib/gardener-node-agent/init.sh']],
    ...change.more,
  })}`;
}
