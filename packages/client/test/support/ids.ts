/** The id that is `by` after this one. */
export function following(id: string, by = 1): string {
  return String(BigInt(id) + BigInt(by));
}
