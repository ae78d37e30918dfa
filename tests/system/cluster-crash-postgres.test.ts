import { describeCrashes } from '../support/clusters/describe-crashes.js';

describeCrashes({ title: 'a Postgres that is restarted', kills: 50, disturbed: 'Postgres' });
