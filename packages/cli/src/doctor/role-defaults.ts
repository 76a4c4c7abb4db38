import type { Client } from "pg";
import { ok, type Check, type Finding } from "./finding.ts";

interface Default {
  role: string | null;
  database: string | null;
  name: string;
  value: string;
}

/** Why a default hurts, by its name; undefined: it does not. */
const whys: Record<string, (value: string) => string | undefined> = {
  default_transaction_isolation: (value) =>
    value === "read committed"
      ? undefined
      : "receive, subscribe and maintain need READ COMMITTED; the client begins a transaction of its own for each call, which is two more round trips",
  default_transaction_read_only: (value) =>
    value === "off" ? undefined : "sending and receiving write; a transaction that a handler runs in fails at its ack",
  session_replication_role: (value) =>
    value === "replica"
      ? "foreign keys and triggers of your own tables do nothing, in handlers' transactions too"
      : undefined,
};

/** Defaults of roles and databases that do not suit a queue. A role's own count for more than a database's. */
export const roleDefaultsCheck: Check = {
  name: "role-defaults",
  needsSchema: false,
  async run({ client }) {
    const findings = (await readDefaults(client)).flatMap(roleDefaultFinding);
    return findings.length > 0 ? findings : [ok("no role or database has defaults that hurt")];
  },
};

/** What is wrong with one of them. */
function roleDefaultFinding({ role, database, name, value }: Default): Finding[] {
  const why = whys[name]?.(value);
  if (why === undefined) return [];
  const whose =
    role === null ? `database ${database}` : `role ${role}${database === null ? "" : ` in database ${database}`}`;
  return [
    { severity: "warning", found: `${name} is ${value} for ${whose}`, why, fix: [`alter ${whose} reset ${name}`] },
  ];
}

async function readDefaults(client: Client): Promise<Default[]> {
  const { rows } = await client.query<Default>(
    `select quote_ident(r.rolname) as role, quote_ident(d.datname) as database, split_part(c.setting, '=', 1) as name,
            substr(c.setting, strpos(c.setting, '=') + 1) as value
       from pg_db_role_setting s
       left join pg_roles r on r.oid = s.setrole
       left join pg_database d on d.oid = s.setdatabase
      cross join unnest(s.setconfig) as c(setting)
      where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
      order by role, database, name`,
  );
  return rows;
}
