export type { GardenCall, GardenLog } from './call.js';
export type { Verb } from './call-errors.js';
export type {
  AdminKubeconfig,
  AppliedShoot,
  CredentialsDeclaration,
  GardenClient,
  GardenOptions,
  OwnedShoot,
  ProjectDeclaration,
  ShootEvent,
  ShootIdentity,
  ShootManifest,
  ShootPage,
  ShootWatch,
  WatchState,
} from './client.js';
export type { CatalogueVersion, CloudProfile, ImageVersion, MachineType } from './cloud-profile.js';
export { connectGarden, gardenCallMetrics } from './connect-garden.js';
export { type FieldConflict, type FieldProblem, GardenError, type GardenErrorKind, isGardenError } from './errors.js';
export {
  defaultFieldManager,
  type FieldManager,
  type FieldPathPart,
  fieldSteps,
  isAppliedBy,
  isRemovable,
  nobodysManager,
  othersHolding,
} from './field-managers.js';
export { type GardenFeature, gardenFeatures, gardenFeaturesVariable } from './garden-features.js';
export { isUsable, newestPatch, usableVersions } from './kubernetes-version.js';
export { nameContexts } from './name-contexts.js';
export type { JoinData, JoinRequest, NodeMarks, NodeReading, ShootNodes } from './nodes/client.js';
export { isHostName } from './nodes/join-rules.js';
export { renderJoinCommand, renderJoinUserData } from './nodes/render-join-command.js';
export {
  type LastError,
  type LastOperation,
  type ObjectMeta,
  parseShoot,
  type Shoot,
  type ShootCondition,
  type ShootStatus,
} from './shoot.js';
