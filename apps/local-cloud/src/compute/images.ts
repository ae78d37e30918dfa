import type { Architecture, SystemImage } from './model.js';

const systemImages: readonly [id: number, name: string, architecture: Architecture][] = [
  [114_690_387, 'debian-12', 'x86'],
  [114_690_389, 'debian-12', 'arm'],
  [161_547_269, 'ubuntu-24.04', 'x86'],
  [161_547_270, 'ubuntu-24.04', 'arm'],
  [67_794_396, 'ubuntu-22.04', 'x86'],
  [103_908_130, 'ubuntu-22.04', 'arm'],
];

/** Images of the provider, one per architecture under one name. */
export const images: readonly SystemImage[] = systemImages.map(([id, name, architecture]) => ({
  ...{ id, name, architecture, diskGb: 5 },
}));

/** By number or by name; a name means the image for the architecture. */
export const findImage = (reference: string, architecture: Architecture): SystemImage | null =>
  images.find(({ id }) => String(id) === reference) ??
  images.find((image) => image.name === reference && image.architecture === architecture) ??
  null;
