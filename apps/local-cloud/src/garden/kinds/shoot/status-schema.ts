import { flag, integer, keyedBy, listOf, struct, text } from '../../fields/schema.js';

export const condition = struct({
  type: text,
  status: text,
  lastTransitionTime: text,
  lastUpdateTime: text,
  reason: text,
  message: text,
  codes: listOf(text),
});
const gardener = struct({ id: text, name: text, version: text });
const lastOperation = struct({ description: text, lastUpdateTime: text, progress: integer, state: text, type: text });
const lastError = struct({ description: text, taskID: text, codes: listOf(text), lastUpdateTime: text });
const shootAdvertisedAddress = struct({ name: text, url: text, application: text });
const pendingWorkersRollout = struct({ name: text, lastInitiationTime: text });
const caRotation = struct({
  phase: text,
  lastCompletionTime: text,
  lastInitiationTime: text,
  lastInitiationFinishedTime: text,
  lastCompletionTriggeredTime: text,
  pendingWorkersRollouts: listOf(pendingWorkersRollout),
});
const shootSSHKeypairRotation = struct({ lastInitiationTime: text, lastCompletionTime: text });
const observabilityRotation = struct({ lastInitiationTime: text, lastCompletionTime: text });
const serviceAccountKeyRotation = struct({
  phase: text,
  lastCompletionTime: text,
  lastInitiationTime: text,
  lastInitiationFinishedTime: text,
  lastCompletionTriggeredTime: text,
  pendingWorkersRollouts: listOf(pendingWorkersRollout),
});
const etcdEncryptionKeyRotation = struct({
  phase: text,
  lastCompletionTime: text,
  lastInitiationTime: text,
  lastInitiationFinishedTime: text,
  lastCompletionTriggeredTime: text,
  autoCompleteAfterPrepared: flag,
});
const shootCredentialsRotation = struct({
  certificateAuthorities: caRotation,
  sshKeypair: shootSSHKeypairRotation,
  observability: observabilityRotation,
  serviceAccountKey: serviceAccountKeyRotation,
  etcdEncryptionKey: etcdEncryptionKeyRotation,
});
const encryptionProviderStatus = struct({ type: text });
const encryptionAtRest = struct({ resources: listOf(text), provider: encryptionProviderStatus });
const shootCredentials = struct({ rotation: shootCredentialsRotation, encryptionAtRest });
const lastMaintenance = struct({ description: text, triggeredTime: text, state: text, failureReason: text });
const networkingStatus = struct({
  pods: listOf(text),
  nodes: listOf(text),
  services: listOf(text),
  egressCIDRs: listOf(text),
});
const pendingWorkerUpdates = struct({ autoInPlaceUpdate: listOf(text), manualInPlaceUpdate: listOf(text) });
const inPlaceUpdatesStatus = struct({ pendingWorkerUpdates });
const manualWorkerPoolRollout = struct({ pendingWorkersRollouts: listOf(pendingWorkersRollout) });
const liveMigration = struct({ conditions: keyedBy('type', condition) });
export const shootStatus = struct({
  conditions: keyedBy('type', condition),
  constraints: keyedBy('type', condition),
  gardener,
  hibernated: flag,
  lastOperation,
  lastErrors: listOf(lastError),
  observedGeneration: integer,
  retryCycleStartTime: text,
  seedName: text,
  technicalID: text,
  uid: text,
  clusterIdentity: text,
  advertisedAddresses: keyedBy('name', shootAdvertisedAddress),
  migrationStartTime: text,
  credentials: shootCredentials,
  lastHibernationTriggerTime: text,
  lastMaintenance,
  networking: networkingStatus,
  inPlaceUpdates: inPlaceUpdatesStatus,
  manualWorkerPoolRollout,
  liveMigration,
});
