import { type CallDeps, perform } from './call.js';
import { unusableError } from './call-errors.js';
import { type CloudProfile, parseCloudProfile } from './cloud-profile.js';
import { objectIn } from './json.js';
import { cloudProfilePath } from './paths.js';
import { getCall } from './requests.js';

export async function readCloudProfile(deps: CallDeps, name: string, signal?: AbortSignal): Promise<CloudProfile> {
  const call = getCall('cloudprofiles', cloudProfilePath(name));
  const { body, date } = await perform(deps, call, signal);
  const profile = parseCloudProfile(body, date ?? new Date());
  if (profile === null) throw unusableError(call, "the answer has no object's metadata");
  return profile;
}

/** What every authenticated user may read, without its large body where the server can leave that out. */
export async function ping(deps: CallDeps, name: string, signal?: AbortSignal): Promise<void> {
  const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
  const call = { ...getCall('cloudprofiles', cloudProfilePath(name)), accept };
  const { body } = await perform(deps, call, signal);
  if (objectIn(body, 'metadata').name !== name) throw unusableError(call, 'the answer is about something else');
}
