import { stringify } from 'yaml';
import type { JoinData } from './client.js';
import { flawOf, isHostName } from './join-rules.js';

/**
 * Renders the script that a new machine runs until its node agent takes over. Agents search for a config with their version
 * in its name; older ones take its path (gardener: cmd/gardener-node-agent/app/options.go). A server starts from a plain
 * distribution image, so the script also installs what Gardener's operating system extensions install
 * (gardener/gardener-extension-os-ubuntu: pkg/controller/operatingsystemconfig).
 *
 * @param image must be validated: it is not quoted for the shell
 */
export function initScript(image: string): string {
  return `#!/bin/bash
set -euo pipefail

image='${image}'
home=/var/lib/gardener-node-agent
agent=/opt/bin/gardener-node-agent

if ! command -v containerd > /dev/null; then
  echo 'Installing containerd and what else a node needs.'
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq -o DPkg::Lock::Timeout=300 update
  apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-upgrade \\
    containerd jq logrotate nfs-common policykit-1 runc socat
fi
if [ ! -s /etc/containerd/config.toml ]; then
  mkdir -p /etc/containerd
  containerd config default > /etc/containerd/config.toml
fi
systemctl enable --now containerd.service

echo 'Fetching the node agent.'
pull=(ctr images pull)
case "$(ctr images pull --help 2>&1)" in
  # Without this, version 2 wants the image of every architecture.
  *--skip-metadata*) pull+=(--skip-metadata) ;;
esac
"\${pull[@]}" "$image"
mounted="$(mktemp -d)"
release() {
  ctr images unmount "$mounted" > /dev/null || true
  rmdir "$mounted" || true
}
trap release EXIT
ctr images mount "$image" "$mounted"
binary="$mounted/gardener-node-agent"
[ -f "$binary" ] || binary="$mounted/ko-app/gardener-node-agent"
install -D -m 0755 "$binary" "$agent"

echo 'Handing over to the node agent.'
version="$("$agent" --version)"
install -m 0600 "$home/config.yaml" "$home/config-\${version##* }.yaml"
case "$("$agent" bootstrap --help 2>&1)" in
  *--config-dir*) "$agent" bootstrap --config-dir="$home" ;;
  *) "$agent" bootstrap --config="$home/config.yaml" ;;
esac
`;
}

/** The agent disables this unit by name after it has taken over. */
function initUnit(scriptPath: string): string {
  return `[Unit]
Description=Makes this machine a node of a cluster
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
EnvironmentFile=-/etc/environment
ExecStart=${scriptPath}
Restart=on-failure
RestartSec=10
StandardOutput=journal+console
StandardError=journal+console

[Install]
WantedBy=multi-user.target
`;
}

const home = '/var/lib/gardener-node-agent';
const certificateAuthorityPath = `${home}/cluster-ca.crt`;
const initScriptPath = `${home}/init.sh`;

/** The unit that makes a machine a node after the files are written. */
export const joinUnit = 'gardener-node-init.service';

interface JoinFile {
  readonly path: string;
  /** The mode in the notation of chmod. */
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
