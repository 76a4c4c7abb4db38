/** The server's settings that matter, in one line. */
export function serverLine({ embedded, server }: { embedded: boolean; server: Record<string, string> }): string {
  const settings = Object.entries(server).map(([name, value]) => `${name} ${value}`);
  return `PostgreSQL, ${embedded ? "embedded" : "given"}: ${settings.join(", ")}`;
}
