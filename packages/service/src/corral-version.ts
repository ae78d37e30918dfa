/** The version of the running program. The build of a program states it; tests run without one. */
export const corralVersion: string = process.env.CORRAL_VERSION ?? 'development';
