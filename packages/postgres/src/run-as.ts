import { readFileSync } from "node:fs";

/** Who a server runs as: options of `spawn`. Empty: as ourselves. */
export interface Identity {
  uid?: number;
  gid?: number;
}

/** PostgreSQL refuses to run as root; then it runs as an unprivileged user that the system knows. */
export function unprivileged(): Identity {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const wanted of ["nobody", "postgres"]) {
    const user = users.find(([name]) => name === wanted);
    if (user) return { uid: Number(user[2]), gid: Number(user[3]) };
  }
  throw new Error("expected a user named nobody or postgres in /etc/passwd: PostgreSQL does not run as root");
}
