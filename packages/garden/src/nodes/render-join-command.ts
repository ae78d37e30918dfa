import type { JoinData } from './client.js';
import { joinFiles, joinUnit, yaml } from './init-script.js';

/** The client certificate of the kubelet: exists on a machine that has been a node. */
const kubeletCertificatePath = '/var/lib/kubelet/pki/kubelet-client-current.pem';

/**
 * Renders a command for the root shell of a machine that we cannot rebuild. It makes the machine a node, like the user
 * data of a rebuilt server. It is a single command, so an incomplete paste does nothing, and it can be run again, also
 * with another token. It contains the token: treat it as secret.
 *
 * @param nodeName becomes the name of the host, and so of the Node
 * @throws TypeError that names the invalid part, without its value
 */
export function renderJoinCommand(join: JoinData, nodeName: string): string {
  const files = joinFiles(join, nodeName);
  return `bash -s <<'END-OF-COMMAND'
{
set -euo pipefail
fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'Run this as root.'
command -v systemctl > /dev/null || fail 'This machine has no systemd.'
[ ! -e ${kubeletCertificatePath} ] || fail 'This machine has been a node. Reinstall its operating system first.'

put() {
  mkdir -p "$(dirname "$2")"
  # Never readable by others, not even for a moment.
  (umask 077 && base64 -d > "$2")
  chmod "$1" "$2"
}
${files.map(heredoc).join('\n')}

hostnamectl set-hostname ${nodeName}
systemctl daemon-reload
systemctl enable --now --no-block ${joinUnit}
echo 'Joining as ${nodeName}. What it does: journalctl -fu ${joinUnit}'
exit
}
END-OF-COMMAND
`;
}

/** Base64 preserves every byte, and nothing in the file can end the heredoc. */
function heredoc({ path, permissions, content }: ReturnType<typeof joinFiles>[number]): string {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,76}/g) ?? [];
  return [`put ${permissions} ${path} <<'END-OF-FILE'`, ...lines, 'END-OF-FILE'].join('\n');
}

/**
 * Renders the user data that makes a machine a node: a cloud-config. It contains the token: treat it as secret.
 *
 * @param nodeName becomes the name of the host, and so of the Node
 * @throws TypeError that names the invalid part, without its value
 */
export function renderJoinUserData(join: JoinData, nodeName: string): string {
  const document = {
    hostname: nodeName,
    preserve_hostname: false,
    ssh_pwauth: false,
    write_files: joinFiles(join, nodeName).map(({ path, ...file }) => ({ path, owner: 'root:root', ...file })),
    runcmd: [
      ['systemctl', 'daemon-reload'],
      ['systemctl', 'enable', '--now', '--no-block', joinUnit],
    ],
  };
  return `#cloud-config\n${yaml(document)}`;
}
