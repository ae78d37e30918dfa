import type { JoinData } from './client.js';
import { joinFiles, joinUnit } from './join-files.js';

/** On a machine that has been a node: what its kubelet shows there instead of a token. */
const kubeletCertificatePath = '/var/lib/kubelet/pki/kubelet-client-current.pem';

/**
 * Renders what somebody pastes into a root shell of a machine that nobody here can rebuild, for it to become a node. It does
 * what the user data of one that is rebuilt does. It is one command, so a paste that is cut short does nothing; it may be
 * run again, with another token too. Like user data it is as secret as the token.
 *
 * @param nodeName becomes the name of the host, and so of the Node
 * @throws TypeError that names a part which cannot be used, and quotes nothing of it
 */
export function renderJoinCommand(join: JoinData, nodeName: string): string {
  const files = joinFiles(join, nodeName);
  return `bash -s <<'END-OF-COMMAND'
{
set -euo pipefail
fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'Run this as root.'
command -v systemctl > /dev/null || fail 'This machine has no systemd.'
[ ! -e ${kubeletCertificatePath} ] || fail 'This machine has been a node. Wipe it first: install its system anew.'

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

/** In base64: a file arrives to the byte, and nothing in it can end the command. */
function heredoc({ path, permissions, content }: ReturnType<typeof joinFiles>[number]): string {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,76}/g) ?? [];
  return [`put ${permissions} ${path} <<'END-OF-FILE'`, ...lines, 'END-OF-FILE'].join('\n');
}
