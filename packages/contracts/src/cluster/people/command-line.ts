/** The only client of the token endpoint's codes. It is public: everybody can run it. */
export const commandLineClient = 'corral-cli';
