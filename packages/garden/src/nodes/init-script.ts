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
export function initUnit(scriptPath: string): string {
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
