export { type Denial, denialSentence } from './calls/admission.js';
export type { GardenCall } from './calls/call.js';
export { type FieldConflict, GardenError, type GardenErrorKind, isGardenError } from './calls/garden-error.js';
export { objectIn, objectsIn, textIn } from './calls/json.js';
export type { CatalogueVersion, CloudProfile, ImageVersion, MachineType } from './catalogue/cloud-profile.js';
export { type GardenFeature, gardenFeatures, gardenFeaturesVariable } from './catalogue/garden-features.js';
export type {
  AppliedShoot,
  GardenClient,
  GardenOptions,
  ShootEvent,
  ShootManifest,
  ShootWatch,
  TimedShoot,
  WatchState,
} from './client.js';
export { connectGarden, gardenCallMetrics } from './connect-garden.js';
export { nameContexts } from './credentials/kubeconfig.js';
export type { JoinData, NodePatch, NodeReading, ShootNodes } from './nodes/client.js';
export { isHostName } from './nodes/join-rules.js';
export { renderJoinCommand, renderJoinUserData } from './nodes/render-join-command.js';
export type { BalancerReading, ObjectManifest, ObjectRef, ShootObjects } from './objects/client.js';
export { type GardenRule, reconcilerRights } from './rights.js';
export {
  beforeFirstApply,
  defaultFieldManager,
  type FieldManager,
  type FieldPathPart,
  fieldPathParts,
  isAppliedBy,
  isRemovable,
  type LastError,
  otherManagersOf,
  parseShoot,
  type Shoot,
  type ShootCondition,
  type ShootStatus,
} from './shoots/shoot.js';
