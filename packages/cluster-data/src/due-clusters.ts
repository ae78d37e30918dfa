/**
 * Channel on which a declaration tells, with its commit, which cluster it made due: the ID is the payload. It only saves time. The job
 * that is sent afterwards finds the same row due if nobody listens.
 */
export const dueClusters = 'cluster_due';
