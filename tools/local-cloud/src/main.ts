import { readOptions } from './read-options.js';
import { startLocalCloud } from './start-local-cloud.js';

const cloud = await startLocalCloud(readOptions(process.env));

// Registered before the ready line is printed: its reader may stop the process immediately.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    cloud.close().then(() => process.exit(0));
  });
}

const { apiUrl, adminUrl, dnsPort, smtpPort, gardenUrl, gardenKubeconfigPath } = cloud;
process.stdout.write(
  `${JSON.stringify({ event: 'ready', apiUrl, adminUrl, dnsPort, smtpPort, gardenUrl, gardenKubeconfigPath })}\n`,
);
