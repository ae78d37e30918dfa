import { stringify } from 'yaml';
import type { JoinData } from './client.js';
import { initScript, initUnit } from './init-script.js';
import { flawOf, isHostName } from './join-rules.js';

const home = '/var/lib/gardener-node-agent';
const certificateAuthorityPath = `${home}/cluster-ca.crt`;
const initScriptPath = `${home}/init.sh`;

/** The unit that makes a machine a node after the files are written. */
export const joinUnit = 'gardener-node-init.service';

export interface JoinFile {
  readonly path: string;
  /** In the notation of chmod. */
  readonly permissions: string;
  readonly content: string;
}

/**
 * The files that make a machine a node: the same that Gardener writes to its own machines (gardener:
 * docs/concepts/node-agent.md and pkg/component/extensions/operatingsystemconfig/nodeinit). Its node agent does the
 * rest. One of the files is the token: treat them as secret.
 *
 * @param nodeName becomes the name of the host, and so of the Node
 * @throws TypeError that names the invalid part, without its value
 */
export function joinFiles(join: JoinData, nodeName: string): JoinFile[] {
  const flaw = isHostName(nodeName) ? flawOf(join) : 'nodeName';
  if (flaw !== null) throw new TypeError(`No server can join with this ${flaw}.`);
  return [
    file(`${home}/credentials/bootstrap-token`, '0600', join.bootstrapToken),
    file(certificateAuthorityPath, '0644', join.certificateAuthority),
    // The agent asks for a certificate in this name (gardener: cmd/gardener-node-agent/app/app.go).
    file(`${home}/machine-name`, '0644', nodeName),
    file(`${home}/config.yaml`, '0600', yaml(nodeAgentConfig(join))),
    file(initScriptPath, '0755', initScript(join.nodeAgentImage)),
    file(`/etc/systemd/system/${joinUnit}`, '0644', initUnit(initScriptPath)),
  ];
}

/**
 * gardener: pkg/apis/config/nodeagent/v1alpha1/types.go. The authority is there twice because agents older than
 * Gardener 1.150 know `caBundle` only, and newer ones `caFile` only; both ignore the other.
 */
function nodeAgentConfig({ server, certificateAuthority, configSecretName, kubernetesVersion }: JoinData) {
  return {
    apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
    kind: 'NodeAgentConfiguration',
    apiServer: {
      server,
      caFile: certificateAuthorityPath,
      caBundle: Buffer.from(certificateAuthority).toString('base64'),
    },
    controllers: { operatingSystemConfig: { secretName: configSecretName, kubernetesVersion } },
  };
}

const file = (path: string, permissions: string, content: string): JoinFile => ({ path, permissions, content });

/** cloud-init reads YAML 1.1, where more words need quotes to be strings. */
export function yaml(value: object): string {
  return stringify(value, { version: '1.1', lineWidth: 0 });
}
