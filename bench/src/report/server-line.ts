/** The server's settings that matter, in one line. */
export function serverLine({ embedded, server }: { embedded: boolean; server: Record<string, string> }): string {
  const settings = Object.entries(server).map(([name, value]) => `${name} ${value}`);
  return `PostgreSQL, ${embedded ? "embedded" : "given"}: ${settings.join(", ")}`;
}

/** Which server it is and how it commits, for the first lines of a run. */
export function postgresLine(
  settings: { embedded: boolean; server: Record<string, string>; synchronousCommit: string },
  postgres: string,
  place: string,
): string {
  return (
    `PostgreSQL ${postgres} ${settings.embedded ? "(embedded, started for this run)" : `at ${place}`}, ` +
    `fsync ${settings.server["fsync"]}, synchronous_commit ${settings.synchronousCommit}`
  );
}
