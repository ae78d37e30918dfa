import type { JoinData } from './client.js';
import { joinFiles, joinUnit, yaml } from './join-files.js';

/**
 * Renders the user data with which a machine becomes a node: a cloud-config. It holds the token, so it is as secret as that.
 *
 * @param nodeName becomes the name of the host, and so of the Node
 * @throws TypeError that names a part which cannot be used, and quotes nothing of it
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
