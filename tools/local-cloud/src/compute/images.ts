/** The provider's names. */
export type Architecture = 'x86' | 'arm';

export interface SystemImage {
  readonly id: number;
  readonly name: string;
  readonly architecture: Architecture;
}

/** The provider's images: one per architecture under each name. */
export const images: readonly SystemImage[] = [
  { id: 114_690_387, name: 'debian-12', architecture: 'x86' },
  { id: 114_690_389, name: 'debian-12', architecture: 'arm' },
  { id: 161_547_269, name: 'ubuntu-24.04', architecture: 'x86' },
  { id: 161_547_270, name: 'ubuntu-24.04', architecture: 'arm' },
  { id: 67_794_396, name: 'ubuntu-22.04', architecture: 'x86' },
  { id: 103_908_130, name: 'ubuntu-22.04', architecture: 'arm' },
];

/** Finds an image by id or name. A name selects the image for the architecture. */
export const findImage = (reference: string, architecture: Architecture): SystemImage | null =>
  images.find(({ id }) => String(id) === reference) ??
  images.find((image) => image.name === reference && image.architecture === architecture) ??
  null;

export const imageBody = ({ id, name, architecture }: SystemImage) => ({
  id,
  type: 'system',
  status: 'available',
  name,
  architecture,
  disk_size: 5,
});
