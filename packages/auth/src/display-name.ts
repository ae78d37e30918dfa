/** How a person is called: as they chose, else by name, else by e-mail address. */
export function displayNameOf(user: {
  readonly displayName: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
}): string {
  return user.displayName || `${user.firstName} ${user.lastName}`.trim() || user.email;
}
