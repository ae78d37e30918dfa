/** The names of a person that the database keeps. */
export interface PersonNames {
  readonly displayName: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
}

/** The display name of a person: the chosen one, else first and last name, else the e-mail address. */
export const displayNameOf = ({ displayName, firstName, lastName, email }: PersonNames): string =>
  displayName || `${firstName} ${lastName}`.trim() || email;

/** A person as others of the team see them. */
export const personOf = (user: PersonNames & { readonly number: number }) => ({
  id: user.number,
  email: user.email,
  displayName: displayNameOf(user),
});
